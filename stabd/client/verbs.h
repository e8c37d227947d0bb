// SPDX-License-Identifier: MIT
// What stabctl does, a function a verb. Each prints to stdout and returns the process's exit code.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace stab::client {

inline constexpr int exit_ok = 0;
inline constexpr int exit_error = 1;      // usage, or the tool failed
inline constexpr int exit_regressed = 2;  // something is slower (or higher)
inline constexpr int exit_unsure = 3;     // nothing is, but something cannot be told
inline constexpr int exit_failed =
    5;  // the experiment failed or was cancelled, or trials of it failed

struct Common {
  std::string socket_path;
  bool json = false;
};

Result<int> submit(const Common& common, const std::string& plan_path, bool wait);
Result<int> list(const Common& common);
Result<int> status(const Common& common, std::int64_t id);
Result<int> watch(const Common& common, std::int64_t id);
Result<int> cancel(const Common& common, std::int64_t id);
Result<int> report(const Common& common, std::int64_t id, const std::string& format,
                   const std::string& output);
Result<int> export_rows(const Common& common, std::int64_t id, const std::string& format,
                        const std::string& output);

// No daemon needed.
// `sd`: the relative standard deviation of trials, as in "2%"; within subjects that of a
// treatment's change between benchmarks. "": an earlier experiment of the same name tells it, if
// there is one.
Result<int> check(const Common& common, const std::string& plan_path, const std::string& sd = "");

struct RunOptions {
  std::string plan_path;
  std::string state_directory;  // "": a new private one
  std::string format = "text";
};
// With a daemon of its own, which ends with it.
Result<int> run(const RunOptions& options);

}  // namespace stab::client
