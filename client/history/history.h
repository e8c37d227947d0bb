// SPDX-License-Identifier: MIT
// 'stabctl history': one benchmark over the experiments of a daemon or a folder. It asks for their
// reports as any client may, so it shows what the caller may see.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/verbs.h"

namespace stab::client {

struct HistoryOptions {
  std::string benchmark;
  std::string experiment;  // only those of this name; "": all
  std::string html;        // file for the history as a page; "": none
  std::size_t last = 200;  // experiments that are looked at, the latest
  double alpha = 0.05;
  std::uint64_t seed = 1;
};

Result<int> show_history(const Common& common, const HistoryOptions& options);

}  // namespace stab::client
