// SPDX-License-Identifier: MIT
// stab-link: the post-link step and its explanation. It is separate from szc, which a
// build starts thousands of times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "instrumenter/postlink/postlink.h"

namespace stab::instrumenter {
namespace {

constexpr const char* kUsage =
    "usage: stab-link instrument BINARY [--strip-all] [--strip-debug] [--only-own-pads] [--quiet]\n"
    "       stab-link explain BINARY [--json]\n";

bool has(std::span<const std::string> flags, std::string_view flag) {
  return std::ranges::find(flags, flag) != flags.end();
}

int failed(const std::string& path, const Error& error) {
  fmt::print(stderr, "stab-link: {}: {}\n", path, error.message);
  return 1;
}

int run_instrument(const std::string& path, std::span<const std::string> flags) {
  const Options options{.strip_all = has(flags, "--strip-all"),
                        .strip_debug = has(flags, "--strip-debug"),
                        .pads_for_others = !has(flags, "--only-own-pads")};
  const auto summary = instrument(path, options);
  if (!summary) return failed(path, summary.error());
  if (has(flags, "--quiet")) return 0;
  if (summary->large_functions != 0)
    fmt::print(stderr,
               "szc: note: {} functions of {} cannot move because of -mcmodel=large; with "
               "-mcmodel=medium they can\n",
               summary->large_functions, path);
  if (!summary->code_bounds.empty())
    fmt::print(
        stderr,
        "szc: note: {} uses {}, a bound of its code: functions run outside of these bounds, "
        "and the bytes of code inside differ from the file. If that matters, run the program "
        "with code=0. --stab-quiet hides this note\n",
        path, fmt::join(summary->code_bounds, " and "));
  return 0;
}

int run_explain(const std::string& path, std::span<const std::string> flags) {
  const auto explanation = explain(path);
  if (!explanation) return failed(path, explanation.error());
  fmt::print("{}", has(flags, "--json") ? to_json(*explanation) : to_text(*explanation));
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words.size() >= 2) {
    const auto flags = std::span(words).subspan(2);
    if (words[0] == "instrument") return run_instrument(words[1], flags);
    if (words[0] == "explain") return run_explain(words[1], flags);
  }
  fmt::print(stderr, "{}", kUsage);
  return 2;
}

}  // namespace
}  // namespace stab::instrumenter

int main(int argc, char** argv) {
  return stab::instrumenter::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
