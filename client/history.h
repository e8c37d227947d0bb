// SPDX-License-Identifier: MIT
// 'stabctl history': shows one benchmark over the experiments of a daemon or a folder. It requests
// their reports as any client may, so it shows only experiments that the caller has access to.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/verbs.h"

namespace stab::client {

struct HistoryOptions {
  std::string benchmark;
  std::string experiment;  // only experiments with this name; "": all
  std::string html;        // file for the history as a page; "": no page
  std::size_t last = 200;  // how many of the latest experiments are examined
  double alpha = 0.05;
  std::uint64_t seed = 1;
};

Result<int> show_history(const Common& common, const HistoryOptions& options);

}  // namespace stab::client
