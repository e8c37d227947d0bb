// SPDX-License-Identifier: MIT
// stab-lines [--scope PATTERN]... [--below FOLDER] OBJECT...: prints which code belongs to which
// source line, in lines of fields that are separated by tabs:
//   line FILE:LINE         a source line; these are numbered from 0
//   object 1 PATH          an object, whose records follow; 0 if it has no line table
//   stranger PATH          a debug file for the object that belongs to another build
//   range START SIZE LINE  code of the source line with this number; START and SIZE are hexadecimal
//   file DEVICE INODE SIZE MODIFIED CHANGED PATH   the state of a file that was looked at, to
//                          detect changes; zeros if it did not exist
// Without --scope, the scope is all files below FOLDER (default: the current directory) or, if no
// line of them is found, all files outside of /usr.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "causal/lines/read_lines.h"

namespace {

using stab::causal::LineMap;
using stab::causal::ObjectLines;

// Sanitizers need terabytes of addresses, and handle the signals below themselves.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif
constexpr rlim_t most_memory = rlim_t{8} << 30;
constexpr rlim_t most_seconds = 300;

// Limits memory and CPU time: a hostile object may end this process, but it must not burden the
// machine.
void be_bounded() {
  const rlimit memory{.rlim_cur = most_memory, .rlim_max = most_memory};
  if (!is_sanitized) setrlimit(RLIMIT_AS, &memory);
  const rlimit seconds{.rlim_cur = most_seconds, .rlim_max = most_seconds};
  setrlimit(RLIMIT_CPU, &seconds);
}

// LLVM follows a damaged file's offsets without checking them, so it may crash.
extern "C" void end_as_damaged(int /*signal*/) {
  static constexpr std::string_view why =
      "stab-lines: LLVM cannot read the debug information, which is damaged or too large\n";
  static_cast<void>(write(STDERR_FILENO, why.data(), why.size()));
  _exit(1);
}

void catch_crashes() {
  static std::array<std::byte, 65536> stack;
  const stack_t alternate{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_handler = end_as_damaged;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU})
    sigaction(signal, &action, nullptr);
}

int refuse(const std::string& why) {
  static_cast<void>(stab::write_all(STDERR_FILENO, "stab-lines: " + why + "\n"));
  return 1;
}

bool is_empty(const LineMap& map) {
  return std::ranges::all_of(map.objects,
                             [](const ObjectLines& each) { return each.ranges.empty(); });
}

std::string text_of(const LineMap& map) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const std::string& line : map.lines)
    fmt::format_to(out, "line\t{}\n", stab::one_line(line, 4096));
  for (const ObjectLines& object : map.objects) {
    fmt::format_to(out, "object\t{}\t{}\n", object.has_lines ? 1 : 0,
                   stab::one_line(object.path, 4096));
    if (!object.stranger.empty())
      fmt::format_to(out, "stranger\t{}\n", stab::one_line(object.stranger, 4096));
    for (const auto& range : object.ranges)
      fmt::format_to(out, "range\t{:x}\t{:x}\t{}\n", range.start, range.size, range.line);
  }
  for (const auto& [path, state] : map.files)
    fmt::format_to(out, "file\t{}\t{}\t{}\t{}\t{}\t{}\n", state.device, state.inode, state.size,
                   state.modified_ns, state.changed_ns, stab::one_line(path, 4096));
  return text;
}

// Takes the source files below the folder, or all files outside of /usr if that finds no lines.
stab::Result<LineMap> read_by_default(const std::vector<std::string>& objects,
                                      const std::string& folder) {
  const auto below = [&](const std::string& file) {
    return !folder.empty() && folder != "/" && file.starts_with(folder + "/");
  };
  auto map = stab::causal::read_lines(objects, below);
  if (!map || !is_empty(*map)) return map;
  return stab::causal::read_lines(
      objects, [](const std::string& file) { return !file.starts_with("/usr/"); });
}

}  // namespace

int main(int argc, char** argv) {
  be_bounded();
  if (!is_sanitized) catch_crashes();
  std::vector<std::string> patterns;
  std::vector<std::string> objects;
  std::error_code error;
  std::string folder = std::filesystem::current_path(error).string();
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--scope" && words[i] != "--below")
      objects.push_back(words[i]);
    else if (i + 1 == words.size())
      return refuse(words[i] + " needs a value");
    else if (words[i] == "--scope")
      patterns.push_back(words[++i]);
    else
      folder = words[++i];
  }
  if (objects.empty())
    return refuse("usage: stab-lines [--scope PATTERN]... [--below FOLDER] OBJECT...");
  const auto map = patterns.empty()
                       ? read_by_default(objects, folder)
                       : stab::causal::read_lines(objects, stab::causal::scope_of(patterns));
  if (!map) return refuse(map.error().message);
  const auto written = stab::write_all(STDOUT_FILENO, text_of(*map));
  return written ? 0 : refuse(written.error().message);
}
