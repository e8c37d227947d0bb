// SPDX-License-Identifier: MIT
// The memory of the heap: spans cut from ranges of addresses that grow by mapping. The first range
// starts at an address that the seed chooses, far from everything that the kernel places, so
// nothing has to be reserved and limits on address space count only what is used.
#pragma once

#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"
#include "runtime/malloc/memory/span.h"

namespace stab::heap {

enum class Site : uint8_t { by_seed, anywhere };  // anywhere: as the kernel likes
// ThreadSanitizer allows no memory where we look for ours.
#if __has_feature(thread_sanitizer)
constexpr Site usual_site = Site::anywhere;
#else
constexpr Site usual_site = Site::by_seed;
#endif

class Arena {
 public:
  // Before anything else.
  void open(uint64_t seed, Site site = usual_site);
  // A span of this many units; nullptr: there is no memory. `zeroed` tells whether its pages are.
  // Its first and last unit lead to it. Its purpose does not change: those beside it look at it.
  Span* take(uint64_t units, Purpose purpose, bool& zeroed);
  // All of its pages may be used again by others, and the span object, too.
  void give(Span* span);
  // Enlarges or shrinks it where it is. New pages hold anything.
  bool resize(Span* span, uint64_t units);
  // Bytes of spans that are in use.
  uint64_t used();

  Lock lock;  // for fork

 private:
  static constexpr unsigned bins = 64;

  Span* find(uint64_t units);
  bool claim(Span* span, uint64_t units);
  bool grow(uint64_t units);
  uint64_t map_at_end(uint64_t size);
  void insert(Span* span);
  void remove(Span* span);
  void merge_and_insert(Span* span);
  void cut(Span* span, uint64_t units);
  void purge();
  void purge(Span* span);

  rt::Random random_{0};
  Site site_ = Site::by_seed;
  uint64_t end_ = 0;       // where the newest range ends
  uint64_t mapped_ = 0;    // units
  uint64_t used_ = 0;      // units
  uint64_t written_ = 0;   // units of unused spans with written pages
  uint64_t occupied_ = 0;  // a bit for each bin that is not empty
  Span* bin_[bins] = {};
};

extern Arena arena;

}  // namespace stab::heap
