// SPDX-License-Identifier: MIT
// Makes the profile of a trial: samples its processes, and assigns each sample to the function that
// ran.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "counters/profile.h"
#include "counters/profiles/naming.h"
#include "counters/profiles/sampler.h"

namespace stab::counters {

inline constexpr std::uint64_t place_file_bytes = std::uint64_t{64} << 20;

class Profiler {
 public:
  // An unknown event is accepted, but it can't be sampled.
  Profiler(const std::string& event, std::uint32_t hz);

  // Why this process could not be sampled; "" if it could.
  [[nodiscard]] std::string lacking() const;

  // Called in this order for each trial: make_place_file() for the program's environment, begin()
  // while the program waits before exec, drain() whenever fd() is readable because a ring is half
  // full, and end() after all processes have ended.
  std::string make_place_file();  // its path (base/shown_files.h), or ""
  void begin(pid_t process);
  [[nodiscard]] int fd() const { return sampler_ ? sampler_->fd() : -1; }
  void drain();
  Profile end();

  [[nodiscard]] const std::string& name() const { return event_.name; }

 private:
  Event event_;
  std::uint32_t hz_;
  Fd place_file_;
  std::optional<Sampler> sampler_;
  std::string reason_;  // why the trial has no profile
  KnownFiles known_;    // kept between trials
};

}  // namespace stab::counters
