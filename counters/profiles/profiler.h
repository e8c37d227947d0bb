// SPDX-License-Identifier: MIT
// The profile of a trial: samples of its processes, each put down to the function that ran.
//
// A function's name is right or there is none: what was where follows from what the kernel and the
// runtime of szc's programs told, in the order of time. From the moment on at which any of that is
// lacking, and in files that have changed since, code is "[unknown]". So is what has no symbol.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "counters/profile.h"
#include "counters/profiles/sampler.h"
#include "counters/profiles/symbols.h"

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
  std::string make_place_file();  // its path, or "" where there is none
  void begin(pid_t process);
  [[nodiscard]] int fd() const { return sampler_ ? sampler_->fd() : -1; }
  void drain();
  Profile end();

  [[nodiscard]] const std::string& name() const { return event_.name; }

 private:
  struct Known {
    std::uint64_t inode = 0;
    std::int64_t changed_ns = 0;
    std::shared_ptr<const Symbols> symbols{};
  };

  Event event_;
  std::uint32_t hz_;
  Fd place_file_;
  std::optional<Sampler> sampler_;
  std::string reason_;                  // why the trial has none
  std::map<std::string, Known> known_;  // files, from trial to trial
  friend class Naming;
};

}  // namespace stab::counters
