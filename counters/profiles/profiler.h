// SPDX-License-Identifier: MIT
// The profile of a trial: samples of its processes, each put down to the function that ran.
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
  // A name that is none stays as what cannot be sampled.
  Profiler(const std::string& event, std::uint32_t hz);

  // Why this process could not be sampled; "" if it could.
  [[nodiscard]] std::string lacking() const;

  // For each trial in this order: what it has of us in its environment; it waits before exec; its
  // rings are half full; all of its processes have ended.
  std::string make_place_file();  // its path (base/shown_files.h), or "" where there is none
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
  std::string reason_;  // why the trial has none
  KnownFiles known_;    // from trial to trial
};

}  // namespace stab::counters
