// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/bitmap.h"

#include "runtime/base/check.h"
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/misuse.h"

namespace stab::heap {
namespace {

constexpr const Classes& classes = power_classes;
constexpr unsigned most_spans = 32;
constexpr uint64_t least_slots = 16;

struct Class {
  Lock lock{};
  Span* spans[most_spans] = {};  // each has at least as many slots as all earlier spans together
  unsigned span_count = 0;
  uint64_t slots = 0;
  uint64_t used = 0;
  uint64_t taken = 0;
  uint64_t given = 0;
  rt::Random random{0};
};
constinit Class all[most_classes];

bool is_valid(const Class& in) {
  uint64_t slots = 0;
  uint64_t free = 0;
  for (unsigned i = 0; i < in.span_count; ++i) {
    const Span& span = *in.spans[i];
    uint64_t bits = 0;
    for (uint32_t w = 0; w < (span.slots + 63) / 64; ++w)
      bits += static_cast<uint64_t>(__builtin_popcountll(span.free_bits[w]));
    if (bits != span.free_slots) return false;
    slots += span.slots;
    free += bits;
  }
  return slots == in.slots && slots - free == in.used;
}

bool add_span(Class& in, unsigned c) {
  STAB_EXPENSIVE(Bitmap, 1, is_valid(in));
  if (in.span_count == most_spans) return false;
  const uint64_t slots = in.slots < least_slots ? least_slots : in.slots;
  const uint64_t units = (slots * classes.size[c] + unit_size - 1) >> unit_bits;
  bool zeroed = false;
  Span* span = arena.take(units, Purpose::slab, zeroed);
  if (span == nullptr) return false;
  const auto fit = static_cast<uint32_t>(span->size() / classes.size[c]);
  span->free_bits = static_cast<uint64_t*>(new_metadata((fit + 63) / 64 * 8));
  if (span->free_bits == nullptr) {
    arena.give(span);
    return false;
  }
  for (uint32_t i = 0; i < fit; ++i) span->free_bits[i / 64] |= uint64_t{1} << (i % 64);
  span->first = span->start;
  span->slot_size = classes.size[c];
  span->slots = span->free_slots = fit;
  span->size_class = static_cast<uint8_t>(c);
  lead_to_all(span);
  in.spans[in.span_count++] = span;
  in.slots += fit;
  return true;
}

// At least half of the slots are free, so that two tries suffice on average.
void* take_random(Class& in) {
  STAB_ALWAYS(Bitmap, 1, in.used < in.slots);  // otherwise the loop would not end
  for (;;) {
    uint64_t slot = in.random.below(in.slots);
    unsigned i = 0;
    while (slot >= in.spans[i]->slots) slot -= in.spans[i++]->slots;
    Span* span = in.spans[i];
    uint64_t& word = span->free_bits[slot / 64];
    const uint64_t bit = uint64_t{1} << (slot % 64);
    if ((word & bit) == 0) continue;
    word &= ~bit;
    --span->free_slots;
    ++in.used;
    increase(in.taken);
    return reinterpret_cast<void*>(span->start + slot * span->slot_size);
  }
}

// The newest span is given back when the other spans have at least four slots for each slot in use.
void shrink(Class& in) {
  if (in.span_count == 0) return;
  Span* last = in.spans[in.span_count - 1];
  if (last->free_slots != last->slots || in.used * 4 > in.slots - last->slots) return;
  --in.span_count;
  in.slots -= last->slots;
  drop_metadata(last->free_bits, (last->slots + 63) / 64 * 8);
  arena.give(last);
  STAB_EXPENSIVE(Bitmap, 1, is_valid(in));
}

void* allocate(size_t size) {
  bool zeroed = false;
  void* block = nullptr;
  if (size > classes.largest()) {
    block = take_large(size, 16, zeroed);
  } else {
    const unsigned c = classes.of(size);
    Class& in = all[c];
    const Guard guard(in.lock);
    if (in.used * 2 < in.slots || add_span(in, c) || in.used < in.slots) block = take_random(in);
  }
  return block == nullptr ? no_memory() : block;
}

void* allocate_zeroed(size_t size) {
  bool zeroed = false;
  void* block = size > classes.largest() ? take_large(size, 16, zeroed) : allocate(size);
  if (block == nullptr) return no_memory();
  if (!zeroed) clear(block, size);
  return block;
}

void* allocate_aligned(size_t alignment, size_t size) {
  const size_t both = size > alignment ? size : alignment;
  if (both <= classes.largest()) return allocate(both);
  bool zeroed = false;
  void* block = take_large(size, alignment, zeroed);
  return block == nullptr ? no_memory() : block;
}

// Ends the program if this is not a block of this allocator. A slot is aligned to its size.
void check_block(const Span* span, void* block) {
  const auto address = reinterpret_cast<uint64_t>(block);
  const bool begins = span->purpose == Purpose::large
                          ? span->block == address
                          : span->purpose == Purpose::slab && address % span->slot_size == 0;
  if (!begins) damaged(no_block);
}

// Returns false if the slot is free already.
bool give(Span* span, void* block) {
  Class& in = all[span->size_class];
  const Guard guard(in.lock);
  const uint64_t slot = (reinterpret_cast<uint64_t>(block) - span->start) / span->slot_size;
  const uint64_t bit = uint64_t{1} << (slot % 64);
  if ((span->free_bits[slot / 64] & bit) != 0) return false;
  span->free_bits[slot / 64] |= bit;
  ++span->free_slots;
  --in.used;
  increase(in.given);
  shrink(in);
  return true;
}

void release(void* block) {
  if (block == nullptr) return;
  Span* span = span_of(block);
  if (span == nullptr) return system_heap.release(block);
  check_block(span, block);
  if (span->purpose == Purpose::large) return give_large(span);
  if (!give(span, block)) damaged(freed_twice);
}

size_t usable(void* block) {
  const Span* span = span_of(block);
  if (span == nullptr) return usable_in_system(block);
  if (span->purpose == Purpose::unused) return 0;
  return span->purpose == Purpose::large ? room_in_large(span) : span->slot_size;
}

void* resize(void* block, size_t size) {
  Span* span = span_of(block);
  if (span == nullptr) return system_heap.resize(block, size);
  check_block(span, block);
  if (span->purpose == Purpose::large && size > classes.largest()) {
    void* resized = resize_large(span, size);
    return resized == nullptr ? no_memory() : resized;
  }
  const size_t old = usable(block);
  return stays(old, size) ? block : move_block(bitmap, block, old, size);
}

}  // namespace

constinit const Allocator bitmap = {"bitmap", allocate, allocate_zeroed, allocate_aligned,
                                    release,  resize,   usable};

void open_bitmap(uint64_t seed) {
  rt::Random seeds(seed);
  arena.open(seeds.next());
  open_large(true, seeds.next());
  reseed_bitmap(seeds.next());
}

CacheCounts bitmap_counts() {
  CacheCounts counts;
  for (unsigned c = 0; c < classes.count; ++c) {
    const uint64_t taken = load(all[c].taken);
    counts.taken += taken;
    counts.given += load(all[c].given);
    counts.bytes += taken * classes.size[c];
  }
  return counts;
}

void lock_bitmap() {
  for (Class& in : all) in.lock.lock();
}
void unlock_bitmap() {
  for (Class& in : all) in.lock.unlock();
}
void reseed_bitmap(uint64_t seed) {
  for (unsigned c = 0; c < most_classes; ++c) {
    rt::Random mix(seed + c);
    all[c].random = rt::Random(mix.next());
  }
}

}  // namespace stab::heap
