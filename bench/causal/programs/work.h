// SPDX-License-Identifier: MIT
// What the programs of this folder have in common: work that is one line, and a knob that really
// makes the line faster.
//   PROGRAM KNOB VISITS [OTHER]    by how many permille the line "knob" is faster, and the line "other"
// Prints the wall time of a visit of the progress point.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>

#ifdef WITH_COZ
#include <coz.h>
#define STAB_PROGRESS(name) COZ_PROGRESS_NAMED(name)
#else
#include "stabilizer.h"
#endif

// Takes about `steps` times a third of a nanosecond, all of it on the line that uses it.
#define BUSY(steps) \
  for (long left_ = (steps); left_ > 0; --left_) asm volatile("" : "+r"(left_))

class Bench {
 public:
  Bench(int count, char** words) {
    if (count == 3 || count == 4) {
      knob_ = std::atol(words[1]);
      visits_ = std::atol(words[2]);
    }
    if (count == 4) other_ = std::atol(words[3]);
    if (knob_ < 0 || knob_ > 1000 || other_ < 0 || other_ > 1000 || visits_ < 1) {
      std::fprintf(stderr, "usage: %s PERMILLE VISITS [PERMILLE]\n", words[0]);
      std::exit(2);
    }
  }
  ~Bench() {
    const std::chrono::duration<double, std::nano> took = Clock::now() - start_;
    std::printf("ns_per_visit %.1f\n", took.count() / static_cast<double>(visits_));
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] long visits() const { return visits_; }
  // What is left of so many steps.
  [[nodiscard]] long faster(long steps) const { return steps * (1000 - knob_) / 1000; }
  [[nodiscard]] long other_faster(long steps) const { return steps * (1000 - other_) / 1000; }
  [[nodiscard]] long knob() const { return knob_; }

 private:
  using Clock = std::chrono::steady_clock;
  long knob_ = 0;
  long other_ = 0;
  long visits_ = 0;
  Clock::time_point start_ = Clock::now();
};
