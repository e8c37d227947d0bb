// SPDX-License-Identifier: MIT
// The memory of the heap: spans, cut from ranges of addresses that grow by mapping. The first range
// starts where the seed chooses, far from everything that the kernel maps. So no addresses have to
// be reserved, and limits on address space count only the memory that is used. Each large block has
// a span of its own. The heap's own records lie in other memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"

namespace stab::heap {

// A span is a run of units of 64 KB with one purpose (a slab of equal slots, one large block, or a
// pool), or unused. Its record lies apart from its memory. A directory of the address space leads
// from the address of any block to the record.
//
// Invariants:
//   1. The directory leads to spans that exist, or to no_span.
//   2. Spans do not overlap. An unused span is in one of the arena's lists, once; others are not.
//   3. The arena counts the units that are used.
//   4. The arena is opened before it gives the first span, and only once.
//   5. The arena keeps at most 8 unused spans whole, of at most 64 units (4 MB) together.

constexpr unsigned unit_bits = 16;
constexpr uint64_t unit_size = uint64_t{1} << unit_bits;

enum class Purpose : uint8_t { unused, slab, large, pool };
// The backing of an unused span: written pages, zero pages, or no mapping.
enum class Backing : uint8_t { written, zero, absent };

// Only the arena writes the purpose, because it reads the purposes of a freed span's neighbours.
// All code may read it.
class ArenasPurpose {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): it is read as what it holds.
  operator Purpose() const { return is_; }

 private:
  friend class Arena;
  Purpose is_;
};

constexpr uint8_t no_bag = 255;

struct Span {
  uint64_t start;
  uint32_t units;
  ArenasPurpose purpose;
  Backing backing;
  // The class whose bag accepts any block of this slab as a slot. With no_bag, release() must check
  // more closely.
  uint8_t bag;
  uint8_t size_class;

  // A slab has `slots` slots of `slot_size` bytes from `first` on. A bit in `free_bits` is set
  // while the slot belongs neither to the program nor to a bag.
  uint64_t first;
  uint64_t reciprocal;
  uint32_t slot_size;
  uint32_t slots;
  uint64_t* free_bits;

  // The address of a large block.
  uint64_t block;
  // The span is unused, and is kept whole for the next block of its size.
  bool kept;

  // The fields below change often, so they sit on a cache line of their own: free() reads only the
  // ones above. The links belong to the arena's list of unused spans, or to a class's list of slabs
  // with free slots.
  alignas(64) Span* previous;
  Span* next;
  uint32_t free_slots;
  uint32_t hint;  // all words of free_bits below this one are zero
  uint32_t row;   // the next row starts its search at this slot

  [[nodiscard]] uint64_t size() const { return uint64_t{units} << unit_bits; }
  [[nodiscard]] uint64_t end() const { return start + size(); }
  [[nodiscard]] uint32_t slot_at(uint64_t address) const {
    return static_cast<uint32_t>(times_reciprocal(address) >> 64);
  }
  [[nodiscard]] bool begins_slot(uint64_t address) const {
    return (address - first) * reciprocal < reciprocal;
  }
  // Whether the slot belongs neither to the program nor to a bag.
  [[nodiscard]] bool is_free(uint32_t slot) const {
    return (__atomic_load_n(&free_bits[slot / 64], __ATOMIC_RELAXED) >> (slot % 64) & 1) != 0;
  }
  [[nodiscard]] uint64_t address_of(uint32_t slot) const {
    return first + uint64_t{slot} * slot_size;
  }
  __extension__ using Product = unsigned __int128;
  [[nodiscard]] Product times_reciprocal(uint64_t address) const {
    return Product{address - first} * reciprocal;
  }
};

// For a 32-bit number, the high half of its product with this is the quotient, and the low half is
// below this exactly if the remainder is 0 (Lemire, Kaser, Kurz: Faster remainder by direct
// computation, 2019).
constexpr uint64_t reciprocal_of(uint32_t size) {
  return UINT64_MAX / size + 1;
}

constexpr unsigned leaf_bits = 32;
constexpr uint64_t leaves = uint64_t{1} << (47 - leaf_bits);
constexpr uint64_t leaf_entries = uint64_t{1} << (leaf_bits - unit_bits);
extern Span** directory[leaves];

// Stands for a span that was given back. It is unused, and has no addresses.
extern Span no_span;

// Returns the span of a block. For any other address it returns nullptr if a span of ours was never
// there, and otherwise some span or no_span.
inline Span* span_of(const void* address) {
  const auto a = reinterpret_cast<uint64_t>(address);
  Span** leaf = __atomic_load_n(&directory[(a >> leaf_bits) & (leaves - 1)], __ATOMIC_ACQUIRE);
  if (leaf == nullptr) return nullptr;
  return __atomic_load_n(&leaf[(a >> unit_bits) & (leaf_entries - 1)], __ATOMIC_ACQUIRE);
}

// Makes room in the directory for these addresses. Returns false if there is no memory for it.
bool prepare_directory(uint64_t start, uint64_t size);
// The unit of this address leads to the span from now on. The directory must have room for it.
void lead_to(uint64_t address, Span* span);
// The first and the last unit of the span lead to it.
void lead_to_ends(Span* span);
// All units of the span lead to it.
void lead_to_all(Span* span);
// The units that led to this span, a large block or a slab, lead to no_span.
void lead_nowhere(const Span* span);

enum class Site : uint8_t { by_seed, anywhere };  // anywhere: where the kernel chooses
// ThreadSanitizer allows no memory at the addresses that the seed may choose.
#if __has_feature(thread_sanitizer)
constexpr Site usual_site = Site::anywhere;
#else
constexpr Site usual_site = Site::by_seed;
#endif

class Arena {
 public:
  // To be called before all other functions (Spans 4).
  void open(uint64_t seed, Site site = usual_site);
  // Returns a span of this many units, to which its first and last unit lead, or nullptr if there
  // is no memory. `zeroed` tells whether its pages are zero.
  Span* take(uint64_t units, Purpose purpose, bool& zeroed);
  // Gives the pages and the span object back to the arena. If the span is given or resized again,
  // the program ends when this is noticed (Spans 2).
  void give(Span* span);
  // The same, for callers that hold the lock.
  Span* take_locked(uint64_t units, Purpose purpose, bool& zeroed);
  void give_locked(Span* span);
  // Changes the size without moving the span. Returns false, and leaves the span as it was, if that
  // fails. The content of new pages is undefined.
  bool resize(Span* span, uint64_t units);
  // Bytes of spans that are in use.
  uint64_t used();
  // Returns the written pages of all unused spans to the kernel. Returns whether any were returned.
  bool trim();

  Lock lock;  // for fork and for large blocks

 private:
  static constexpr unsigned bins = 64;
  static constexpr uint32_t most_kept = 8;
  static constexpr uint64_t most_kept_units = 64;

  void keep(Span* span);
  Span* stop_keeping(uint32_t index);
  Span* take_kept(uint64_t units);
  void merge_all_kept();
  Span* unused_behind(const Span* span);
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
  bool return_written();

  rt::Random random_{0};
  Site site_ = Site::by_seed;
  bool is_open_ = false;
  uint64_t end_ = 0;            // where the newest range ends
  uint64_t mapped_ = 0;         // units
  uint64_t used_ = 0;           // units
  uint64_t written_ = 0;        // units of unused spans with written pages
  uint64_t largest_given_ = 0;  // units of a large block; it sets the limit of written_
  uint64_t occupied_ = 0;       // a bit for each bin that is not empty
  Span* bin_[bins] = {};
  Span* kept_[most_kept] = {};
  uint32_t kept_count_ = 0;
  uint64_t kept_units_ = 0;
};

extern Arena arena;

// Memory for the heap's own records. It lies apart from the program's blocks, so that writes beyond
// the end of a block do not reach it.

// Returns a piece that is zeroed and aligned to 64 bytes, or nullptr if there is no memory.
void* new_metadata(size_t size);
// `size` must be the size that was requested. nullptr is ignored.
void drop_metadata(void* piece, size_t size);

// For fork only.
extern Lock metadata_lock;

// Blocks that are larger than any slot. Each has a span of its own. The arena's lock also guards
// their random places and their counts.

// With `colour` each block starts at a random multiple of 64 bytes in its span.
void open_large(bool colour, uint64_t seed);

// `alignment` is a power of two; `zeroed` tells whether the block is zero. Returns nullptr if there
// is no memory, or if the size exceeds 64 TB.
void* take_large(size_t size, size_t alignment, bool& zeroed);
void give_large(Span* span);
// Returns the block with its contents, as far as they fit; the block may have moved. Returns
// nullptr, and leaves the block unchanged, if there is no memory.
void* resize_large(Span* span, size_t size);
// Returns 0 if the block has been given back.
inline size_t room_in_large(const Span* span) {
  return span->purpose == Purpose::large ? static_cast<size_t>(span->end() - span->block) : 0;
}

struct LargeCounts {
  uint64_t taken = 0;
  uint64_t given = 0;
  uint64_t bytes = 0;
};
LargeCounts large_counts();

// For a child of fork, which draws the places of its blocks from another stream.
void reseed_large(uint64_t seed);

}  // namespace stab::heap
