// SPDX-License-Identifier: MIT
#include "stabd/reader/bounds.h"

#include <sys/resource.h>

#include <csignal>

namespace stab::reader {
namespace {

// Sanitizers take terabytes of addresses for themselves.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool bounds_memory = false;
#else
constexpr bool bounds_memory = true;
#endif

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

void set(int what, std::uint64_t soft, std::uint64_t hard) {
  const rlimit limit{soft, hard};
  setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

}  // namespace

Bounds bounds_for(std::uint64_t bytes_of_file) {
  return {.memory = 512 * mib,
          .cpu = std::chrono::seconds(60 + bytes_of_file / mib),
          .written = 4 * bytes_of_file + 64 * mib};
}

void keep_within(const Bounds& bounds) {
  if (bounds_memory) set(RLIMIT_AS, bounds.memory, bounds.memory);
  const auto seconds = static_cast<std::uint64_t>(bounds.cpu.count());
  set(RLIMIT_CPU, seconds, seconds + 1);
  signal(SIGXFSZ, SIG_IGN);
  set(RLIMIT_FSIZE, bounds.written, bounds.written);
}

}  // namespace stab::reader
