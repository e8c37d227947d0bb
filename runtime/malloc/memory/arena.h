// SPDX-License-Identifier: MIT
// The memory of the heap: spans, cut from ranges of addresses that grow by mapping. The first range
// starts where the seed chooses, far from all that the kernel maps. So nothing has to be reserved,
// and limits on address space count only what is used.
#pragma once

#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"
#include "runtime/malloc/memory/span.h"

namespace stab::heap {

enum class Site : uint8_t { by_seed, anywhere };  // anywhere: where the kernel chooses
// ThreadSanitizer allows no memory at the addresses that the seed may choose.
#if __has_feature(thread_sanitizer)
constexpr Site usual_site = Site::anywhere;
#else
constexpr Site usual_site = Site::by_seed;
#endif

class Arena {
 public:
  // Before all others (Spans 4).
  void open(uint64_t seed, Site site = usual_site);
  // A span of this many units, to which its first and last unit lead; nullptr: there is no memory.
  // `zeroed` tells whether its pages are zero.
  Span* take(uint64_t units, Purpose purpose, bool& zeroed);
  // The pages and the span object are the arena's again: whoever gives or resizes it once more is
  // ended where that is seen (Spans 2).
  void give(Span* span);
  // Changes the size without moving the span; false: it is as it was. The content of new pages is
  // undefined.
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
  static void reset(Span* span);
  void insert(Span* span);
  void remove(Span* span);
  void merge_and_insert(Span* span);
  void cut(Span* span, uint64_t units);
  void purge();
  void purge(Span* span);

  rt::Random random_{0};
  Site site_ = Site::by_seed;
  bool is_open_ = false;
  uint64_t end_ = 0;       // where the newest range ends
  uint64_t mapped_ = 0;    // units
  uint64_t used_ = 0;      // units
  uint64_t written_ = 0;   // units of unused spans with written pages
  uint64_t occupied_ = 0;  // a bit for each bin that is not empty
  Span* bin_[bins] = {};
};

extern Arena arena;

}  // namespace stab::heap
