// SPDX-License-Identifier: MIT
#include "client/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/duration.h"
#include "base/fd.h"
#include "base/text.h"
#include "client/live/changes.h"
#include "client/output.h"

namespace stab::client {
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

ProgressDisplay::ProgressDisplay()
    : terminal_(isatty(STDERR_FILENO) == 1), colour_(terminal_ && colours_are_allowed()) {}

void ProgressDisplay::show(const Progress& progress) {
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
  for (const protocol::Change& each : progress.changes) tell("  " + change_words(each));
}

void ProgressDisplay::clear() {
  if (!std::exchange(drawn_, false)) return;
  const std::size_t up = std::exchange(below_, 0);
  draw(up == 0 ? "\r\x1b[K" : fmt::format("\r\x1b[{}A\x1b[J", up));
}

}  // namespace stab::client
