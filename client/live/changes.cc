// SPDX-License-Identifier: MIT
#include "client/live/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "report/words/answer.h"
#include "report/words/changes.h"
#include "report/words/grid.h"
#include "report/words/interval_axis.h"

namespace stab::client {
namespace {

using protocol::Change;
using report::ChangeInterval;
using report::Style;

constexpr std::size_t widest_bar = 41;
constexpr std::size_t longest_name = 40;
constexpr std::size_t between = 2;  // columns

// Early intervals may span from a millionth to a million, which nobody can read.
constexpr double widest_interval = 100;

std::optional<ChangeInterval> interval_of(const Change& change) {
  if (!change.ratio || !change.low || !change.high ||
      !std::isfinite(*change.ratio + *change.low + *change.high))
    return std::nullopt;
  if (!(*change.low > 0) || *change.high / *change.low > widest_interval * widest_interval)
    return std::nullopt;
  return ChangeInterval{
      .low = *change.low - 1, .value = *change.ratio - 1, .high = *change.high - 1};
}

std::string name_of(const Change& change, bool with_benchmark) {
  const bool named = with_benchmark && !change.benchmark.empty();
  return one_line(named ? change.benchmark + " " + change.level : change.level, longest_name);
}

// The benchmark is shown only if the comparisons have different benchmarks.
bool has_benchmarks(const std::vector<Change>& changes) {
  return std::ranges::any_of(
      changes, [&](const Change& each) { return each.benchmark != changes.front().benchmark; });
}

// Shows the verdict unchanged, because a daemon of another release may send other words.
std::string state_of(const Change& change) {
  const std::string verdict = one_line(change.verdict, 20);
  return change.control ? "control: " + verdict : verdict;
}

Style style_of(const Change& change) {
  if (change.control || change.verdict == "same") return Style::plain;
  if (change.verdict == "faster") return Style::good;
  return change.verdict == "slower" ? Style::bad : Style::warning;
}

struct Columns {
  std::size_t name = 0;
  std::size_t change = 0;
  std::size_t interval = 0;
  std::size_t state = 0;
};

std::string change_of(const Change& change) {
  return report::change_text(change.ratio, change.low, change.high);
}

std::string interval_text_of(const Change& change) {
  return interval_of(change) ? report::interval_text(change.low, change.high) : "no interval yet";
}

Columns columns_of(const std::vector<Change>& changes, bool with_benchmark) {
  Columns columns;
  const auto widen = [](std::size_t& width, const std::string& text) {
    width = std::max(width, report::display_width(text));
  };
  for (const Change& each : changes) {
    widen(columns.name, name_of(each, with_benchmark));
    widen(columns.change, change_of(each));
    widen(columns.interval, interval_text_of(each));
    widen(columns.state, state_of(each));
  }
  return columns;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, report::display_width(text)), ' ');
}

// Shortens the text to `width` columns, without splitting a character.
std::string cut(std::string text, std::size_t width) {
  while (report::display_width(text) > width) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80U)
      text.pop_back();
    text.pop_back();
  }
  return text;
}

// If the lines are too wide, the bar is left out first, then the interval; the verdict always
// stays.
class Lines {
 public:
  Lines(const std::vector<Change>& changes, const Room& room)
      : room_(room),
        with_benchmark_(has_benchmarks(changes)),
        columns_(columns_of(changes, with_benchmark_)) {
    std::vector<ChangeInterval> all;
    for (const Change& each : changes)
      if (const auto interval = interval_of(each)) all.push_back(*interval);
    used_ = columns_.name + columns_.change + columns_.state + 2 * between;
    with_interval_ = used_ + columns_.interval + between <= room.width;
    if (with_interval_) used_ += columns_.interval + between;
    if (!all.empty() && used_ + between + report::IntervalAxis::least_width <= room.width)
      axis_.emplace(all, std::min(room.width - used_ - between, widest_bar));
  }

  [[nodiscard]] std::optional<std::string> header() const {
    if (!axis_) return std::nullopt;
    return cut(std::string(columns_.name + columns_.change + columns_.interval + 3 * between, ' ') +
                   axis_->header(),
               room_.width);
  }

  [[nodiscard]] std::string line(const Change& change) const {
    const std::string state = state_of(change);
    std::string text = padded(name_of(change, with_benchmark_), columns_.name + between) +
                       padded(change_of(change), columns_.change + between);
    if (with_interval_) text += padded(interval_text_of(change), columns_.interval + between);
    if (axis_) {
      const auto interval = interval_of(change);
      text += padded(interval ? axis_->draw(*interval) : "", bar_width() + between);
    }
    const std::size_t left = room_.width - std::min(room_.width, report::display_width(state));
    return cut(std::move(text), left) +
           report::styled(cut(state, room_.width), style_of(change), room_.colour);
  }

 private:
  [[nodiscard]] std::size_t bar_width() const {
    return std::min(room_.width - used_ - between, widest_bar);
  }

  Room room_;
  bool with_benchmark_;
  Columns columns_;
  std::size_t used_ = 0;  // columns in use, without the bar
  bool with_interval_ = false;
  std::optional<report::IntervalAxis> axis_{};
};

}  // namespace

std::vector<std::string> change_lines(const std::vector<Change>& changes, const Room& room) {
  std::vector<std::string> result;
  if (changes.empty() || room.most == 0) return result;
  const Lines lines(changes, room);
  std::size_t left = room.most;
  if (const auto header = lines.header(); header && left > 1) {
    result.push_back(*header);
    --left;
  }
  const bool all = changes.size() <= left;
  const std::size_t shown = all ? changes.size() : left - 1;
  for (std::size_t i = 0; i < shown; ++i) result.push_back(lines.line(changes[i]));
  if (!all) result.push_back(cut(fmt::format("and {} more", changes.size() - shown), room.width));
  return result;
}

std::string change_words(const Change& change) {
  const std::string interval = interval_of(change) ? fmt::format(" ({})", interval_text_of(change))
                                                   : ", " + interval_text_of(change);
  return fmt::format("{} against {}: {}{}, {}", name_of(change, true),
                     one_line(change.baseline, 40), change_of(change), interval, state_of(change));
}

}  // namespace stab::client
