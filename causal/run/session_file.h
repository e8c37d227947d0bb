// SPDX-License-Identifier: MIT
// The file of causal/session.h, which the profiler makes, keeps, and reads after the run. It has no
// name: programs reach it through this process, and cannot change its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "causal/lines/line_map.h"
#include "causal/session.h"
#include "stats/causal/profile.h"

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

// Facts about the whole run, for messages.
struct Seen {
  bool has_begun = false;
  std::uint64_t experiments = 0;
  std::uint64_t visits = 0;  // visits of all progress points
  std::uint64_t points = 0;
  std::uint64_t samples = 0;
  std::uint64_t samples_outside = 0;
  std::uint64_t period_ns = 0;  // as measured; 0: there was no sample
  std::uint64_t duration_ns = 0;
  std::uint32_t lost = 0;            // experiments for which there was no room
  std::uint32_t damaged = 0;         // records that the program has written over
  std::uint32_t unwound_short = 0;   // samples whose stack could not be walked to its end
  std::uint32_t timeless = 0;        // experiments left out because pauses took all of their time
  std::uint32_t sampled_by = 0;      // a Sampler
  std::vector<Arrivals> arrivals{};  // one for each thread or place that has arrivals
  bool has_arrived = false;          // an arrival point was visited, if only once in a thread
};

// How a run ended. The file does not say how long a program ran that a signal ended: the last end
// in it is the end of another of the program's processes, or none.
struct RunEnd {
  std::uint64_t passed_ns = 0;  // how long the program ran
  bool by_itself = true;
};

// Adds the run to the profile, whatever the bytes are. There must be `layout.size` of them,
// aligned to 8. Processes that the program left behind may still write to them.
Seen add_run(const Layout& layout, const std::vector<std::string>& lines, bool is_end_to_end,
             std::span<const std::byte> bytes, const RunEnd& ended,
             stats::causal::Profile& profile);

}  // namespace stab::causal
