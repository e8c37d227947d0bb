// SPDX-License-Identifier: MIT
#include "stabd/client/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"

namespace stab::client {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr std::uint64_t bar_width = 24;
constexpr std::chrono::seconds plain_pace{10};

std::string bar(std::uint64_t done, std::uint64_t total) {
  const std::uint64_t filled = total == 0 ? 0 : std::min(bar_width, done * bar_width / total);
  return fmt::format("[{}{}]", std::string(filled, '#'), std::string(bar_width - filled, '-'));
}

bool may_stop_early(const json& progress) {
  const auto fewest = progress.value("fewest", std::uint64_t{0});
  return fewest > 0 && fewest < progress.value("total", std::uint64_t{0});
}

std::string counts(const json& progress) {
  const auto number = [&](const char* key) { return progress.value(key, std::uint64_t{0}); };
  std::string from;
  if (may_stop_early(progress))
    from = number("done") < number("fewest") ? fmt::format("{} to ", number("fewest")) : "at most ";
  std::string text = fmt::format("{} of {}{} trials, {} ok, {} failed", number("done"), from,
                                 number("total"), number("ok"), number("failed"));
  if (number("skipped") > 0) text += fmt::format(", {} skipped", number("skipped"));
  return text;
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

std::string progress_text(const json& progress, std::size_t width) {
  const std::string state = progress.value("state", "");
  const std::string activity = progress.value("activity", "");
  std::string text = state;
  if (state == "building") {
    const auto done = progress.value("builds_done", std::uint64_t{0});
    const auto total = progress.value("builds", std::uint64_t{0});
    text = fmt::format("{} {} of {} builds", bar(done, total), done, total);
  } else if (state == "running") {
    text = fmt::format(
        "{} {}",
        bar(progress.value("done", std::uint64_t{0}), progress.value("total", std::uint64_t{0})),
        counts(progress));
    if (progress.contains("left_ns") && progress["left_ns"].is_number())
      text += fmt::format(
          ", {}{} left", may_stop_early(progress) ? "at most " : "",
          format_duration(std::chrono::nanoseconds(progress["left_ns"].get<std::int64_t>())));
  } else if (const std::string reason = progress.value("reason", ""); !reason.empty()) {
    text += ": " + one_line(reason, 500);
  }
  if (!activity.empty()) text += " | " + one_line(activity, 100);
  const std::string look = progress.value("look", "");
  if (state == "running" && !look.empty()) text += " | " + one_line(look, 200);
  return text.size() > width ? text.substr(0, width) : text;
}

ProgressDisplay::ProgressDisplay() : terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressDisplay::show(const json& progress) {
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", progress_text(progress, terminal_width() - 1));
    std::fflush(stderr);
    drawn_ = true;
    return;
  }
  const std::string state = progress.value("state", "");
  const auto now = steady_clock::now();
  if (state == last_state_ && now - last_line_ < plain_pace) return;
  last_state_ = state;
  last_line_ = now;
  fmt::print(stderr, "{}\n", progress_text(progress, 1000));
}

void ProgressDisplay::clear() {
  if (std::exchange(drawn_, false)) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace stab::client
