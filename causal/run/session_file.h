// SPDX-License-Identifier: MIT
// The file of causal/session.h, which the profiler makes and keeps. It has no name:
// programs reach it through this process, and cannot change its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "causal/lines/line_map.h"
#include "causal/session.h"

namespace stab::causal {

// The places of the parts, as the profiler knows them: the program may overwrite the file's head.
struct Layout {
  std::uint64_t objects = 0;
  std::uint64_t ranges = 0;
  std::uint64_t line_counts = 0;
  std::uint64_t counters = 0;
  std::uint64_t experiments = 0;
  std::uint64_t visits = 0;
  std::uint64_t size = 0;
  std::uint32_t lines = 0;
  std::uint32_t experiment_capacity = 0;
  std::uint32_t visit_capacity = 0;
};

struct Settings {
  std::uint64_t seed = 1;
  std::uint64_t sample_ns = 1'000'000;
  std::uint64_t experiment_ns = 500'000'000;
  std::uint64_t arrival_ns = 0;
  std::uint32_t fixed_line = no_line;
  std::int32_t fixed_speedup = drawn;  // permille
  bool is_end_to_end = false;
  std::vector<std::uint32_t> sampled{};  // lines that are progress points
};

Layout layout_of(const LineMap& map, std::uint32_t experiments = 50'000,
                 std::uint32_t visits = 1'000'000);

class SessionFile {
 public:
  static Result<SessionFile> make(const LineMap& map, const Settings& settings);
  SessionFile(SessionFile&& other) noexcept;
  SessionFile& operator=(SessionFile&&) = delete;
  SessionFile(const SessionFile&) = delete;
  SessionFile& operator=(const SessionFile&) = delete;
  ~SessionFile();

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::string path() const;  // for programs that run while this process does
  // Programs may write to it at any time.
  [[nodiscard]] const Head& head() const { return *reinterpret_cast<const Head*>(start_); }
  [[nodiscard]] const Counter* counters() const {
    return reinterpret_cast<const Counter*>(start_ + layout_.counters);
  }
  // The whole file. Parts that nobody has written or read take no memory, and these are most of
  // it.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {start_, layout_.size}; }

 private:
  SessionFile() = default;
  void fill(const LineMap& map, const Settings& settings);

  Layout layout_;
  Fd fd_;
  std::byte* start_ = nullptr;
};

}  // namespace stab::causal
