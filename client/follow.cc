// SPDX-License-Identifier: MIT

#include "client/follow.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "client/streams.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::client {
namespace {

using protocol::Change;
using report::ChangeInterval;
using report::Style;

constexpr std::size_t widest_bar = 41;
constexpr std::size_t longest_name = 40;
constexpr std::size_t between = 2;  // columns

// Early intervals may span from a millionth to a million, which says nothing. Such an interval is
// shown only if it is narrower than from a tenth to ten times the baseline.
constexpr double widest_interval = 10;

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

// A comparison without a verdict may get one as long as trials run. A daemon of another release may
// send other words, which are shown unchanged.
std::string state_of(const Change& change, bool is_over) {
  if (change.control)
    return change.verdict == "faster" || change.verdict == "slower"
               ? "(control: differs)"
               : std::string(report::control_verdict);
  if (change.verdict == "unsure") return is_over ? "cannot tell" : "not decided yet";
  return change.verdict == "same" ? "the same" : one_line(change.verdict, 20);
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
    widen(columns.state, state_of(each, false));
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
    const std::string state = state_of(change, false);
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

std::string change_words(const Change& change, bool is_over) {
  const std::string interval = interval_of(change) ? fmt::format(" ({})", interval_text_of(change))
                                                   : ", " + interval_text_of(change);
  return fmt::format("{} against {}: {}{}, {}", name_of(change, true),
                     one_line(change.baseline, 40), change_of(change), interval,
                     state_of(change, is_over));
}

namespace {

using protocol::Progress;
using std::chrono::steady_clock;

constexpr std::uint64_t wide_bar = 24;
constexpr std::uint64_t narrow_bar = 12;
constexpr std::chrono::seconds plain_pace{10};

std::string bar(std::uint64_t done, std::uint64_t total, std::uint64_t width) {
  const std::uint64_t filled = total == 0 ? 0 : std::min(width, done * width / total);
  return fmt::format("[{}{}]", std::string(filled, '#'), std::string(width - filled, '-'));
}

// Cuts the text after the last whole part (", ok" or " | sort") that fits. If the first part does
// not fit, cuts it after a word.
std::string cut_to(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t end =
      std::max(text.rfind(", ", width) + 1, text.rfind(" | ", width) + 1);  // npos + 1 is 0
  if (end == 0) end = text.rfind(' ', width) + 1;
  return end <= 1 ? text.substr(0, width) : text.substr(0, end - 1);
}

bool may_stop_early(const Progress& progress) {
  const std::uint64_t fewest = progress.fewest.value_or(0);
  return fewest > 0 && fewest < progress.total.value_or(0);
}

// Ignores errors, because we continue without a terminal.
void draw(const std::string& text) {
  const auto ignored = write_all(STDERR_FILENO, text);
  static_cast<void>(ignored);
}

struct Size {
  std::size_t width = 80;
  std::size_t height = 24;
};

// Returns the most common size if the terminal doesn't report a sensible one.
Size terminal_size() {
  winsize size{};
  Size result;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_col > 20) result.width = size.ws_col;
  if (size.ws_row > 3) result.height = size.ws_row;
  return result;
}

}  // namespace

std::string trials_words(const Progress& progress) {
  const std::uint64_t done = progress.done.value_or(0);
  const std::uint64_t fewest = progress.fewest.value_or(0);
  const std::uint64_t skipped = progress.skipped.value_or(0);
  const std::uint64_t disturbed = progress.disturbed.value_or(0);
  std::string from;
  if (may_stop_early(progress)) from = done < fewest ? fmt::format("{} to ", fewest) : "at most ";
  std::string text =
      fmt::format("{} of {}{} trials, {} ok, {} failed", done, from, progress.total.value_or(0),
                  progress.ok.value_or(0), progress.failed.value_or(0));
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  if (disturbed > 0) text += fmt::format(", {} disturbed", disturbed);
  return text;
}

std::string builds_words(const Progress& progress) {
  std::string text =
      fmt::format("{} of {} builds", progress.builds_done.value_or(0), progress.builds.value_or(0));
  if (const auto cached = progress.builds_cached.value_or(0); cached > 0)
    text += fmt::format(", {} cached", cached);
  return text;
}

std::string left_words(const Progress& progress) {
  if (!progress.left_ns) return "";
  return (progress.state == "building" ? "about "
          : may_stop_early(progress)   ? "at most "
                                       : "") +
         format_duration(std::chrono::nanoseconds(*progress.left_ns));
}

namespace {

std::string text_with_bar(const Progress& progress, std::uint64_t width_of_bar) {
  const std::string& state = progress.state;
  const std::string activity = progress.activity.value_or("");
  std::string text = state;
  const std::string left = left_words(progress);
  if (state == "building" && progress.builds.value_or(0) > 0) {
    text = bar(progress.builds_done.value_or(0), progress.builds.value_or(0), width_of_bar) + " " +
           builds_words(progress);
    if (!left.empty()) text += fmt::format(", {} left", left);
  } else if (state == "running") {
    text = bar(progress.done.value_or(0), progress.total.value_or(0), width_of_bar) + " " +
           trials_words(progress);
    if (!left.empty()) text += fmt::format(", {} left", left);
  } else if (!progress.reason.empty()) {
    text += ": " + one_line(progress.reason, 500);
  }
  if (!activity.empty()) text += " | " + one_line(activity, 100);
  const std::string look = progress.look.value_or("");
  if (state == "running" && !look.empty()) text += " | " + one_line(look, 200);
  return text;
}

}  // namespace

std::string progress_text(const Progress& progress, std::size_t width) {
  const std::string text = text_with_bar(progress, wide_bar);
  return text.size() <= width ? text : cut_to(text_with_bar(progress, narrow_bar), width);
}

ProgressDisplay::ProgressDisplay(Notice notice)
    : notice_(std::move(notice)),
      terminal_(isatty(STDERR_FILENO) == 1),
      colour_(terminal_ && colours_are_allowed()) {}

void ProgressDisplay::show(const Progress& progress) {
  if (const std::string text = notice_ ? notice_(progress) : ""; !text.empty()) {
    clear();
    tell(text);
  }
  if (terminal_)
    draw_lines(progress);
  else
    print_lines(progress);
}

// Keeps lines one column narrower than the terminal, because a full line would wrap.
void ProgressDisplay::draw_lines(const Progress& progress) {
  const Size size = terminal_size();
  clear();
  std::string text = progress_text(progress, size.width - 1);
  const auto changes = change_lines(
      progress.changes, {.width = size.width - 1, .most = size.height - 2, .colour = colour_});
  for (const std::string& line : changes) text += "\r\n" + line;
  draw("\r\x1b[K" + text);
  below_ = changes.size();
  drawn_ = true;
}

void ProgressDisplay::print_lines(const Progress& progress) {
  const std::string& state = progress.state;
  const auto now = steady_clock::now();
  const std::string look = progress.look.value_or("");
  const bool looked = look != last_look_ && !progress.changes.empty();
  if (!looked && state == last_state_ && now - last_line_ < plain_pace) return;
  last_state_ = state;
  last_line_ = now;
  tell(progress_text(progress, 1000));
  if (!looked) return;
  last_look_ = look;
  for (const protocol::Change& each : progress.changes)
    tell("  " + change_words(each, progress.final));
}

void ProgressDisplay::clear() {
  if (!std::exchange(drawn_, false)) return;
  const std::size_t up = std::exchange(below_, 0);
  draw(up == 0 ? "\r\x1b[K" : fmt::format("\r\x1b[{}A\x1b[J", up));
}

SignalFd::SignalFd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC));
}

SignalFd::~SignalFd() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int SignalFd::take() const {
  signalfd_siginfo info{};
  return read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                            : SIGINT;
}

Result<Client> start_watching(const std::vector<std::string>& sockets, std::int64_t id) {
  auto client = Client::connect(sockets);
  if (!client) return client;
  if (auto watching = client->ask(protocol::WatchRequest{.id = id}); !watching)
    return std::unexpected(watching.error());
  return client;
}

Result<Followed> follow(Client& client, const SignalFd& signals, const Notice& notice) {
  ProgressDisplay display(notice);
  Followed followed;
  while (!followed.progress.final) {
    auto line = client.listen(signals.fd());
    if (!line) {
      display.clear();
      return std::unexpected(line.error());
    }
    if (!*line) {
      followed.signal = signals.take();
      break;
    }
    followed.progress = std::move(**line);
    display.show(followed.progress);
  }
  display.clear();
  return followed;
}

}  // namespace stab::client
