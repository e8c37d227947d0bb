// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/large.h"

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/base/random.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/lock.h"

namespace stab::heap {
namespace {

constexpr uint64_t colour_step = 64;
// A block may begin on any page of its first unit, so this many bytes may lie before it.
constexpr uint64_t colour_room = unit_size - os::page_size;
constexpr uint64_t most = uint64_t{1} << 46;
// From this size on remapping pages is cheaper than copying, and it splits few mappings.
constexpr uint64_t move_from = uint64_t{1} << 20;

Lock random_lock;
rt::Random random_places{0};
bool coloured;
LargeCounts counts;

void count(uint64_t& what, uint64_t by) {
  __atomic_fetch_add(&what, by, __ATOMIC_RELAXED);
}

uint64_t random_below(uint64_t bound) {
  const Guard guard(random_lock);
  return random_places.below(bound);
}

uint64_t choose_block(const Span* span, uint64_t size, uint64_t alignment) {
  const uint64_t first = rt::align_up(span->start, alignment);
  if (!coloured) return first;
  const uint64_t step = alignment < colour_step ? colour_step : alignment;
  const uint64_t slack = span->end() - first - size;
  return first + step * random_below((slack < colour_room ? slack : colour_room) / step + 1);
}

// Remaps the whole pages and copies the rest. The new block gets the same offset in its page.
bool move_contents(const Span* from, Span* to, uint64_t size) {
  if (size < move_from || !coloured) return false;
  const uint64_t in_page = from->block % os::page_size;
  const uint64_t block = (to->block & -os::page_size) + in_page;
  const uint64_t pages = (in_page + size) / os::page_size * os::page_size;
  if (block + size > to->end()) return false;
  if (os::failed(os::move_pages(from->block & -os::page_size, pages, block & -os::page_size))) {
    // A failed move may have unmapped the target.
    os::map(block & -os::page_size, pages, os::read | os::write);
    return false;
  }
  rt::copy_bytes(reinterpret_cast<void*>((block & -os::page_size) + pages),
                 reinterpret_cast<void*>((from->block & -os::page_size) + pages),
                 in_page + size - pages);
  lead_to(to->block, &no_span);
  lead_to_ends(to);
  to->block = block;
  lead_to(block, to);
  return true;
}

}  // namespace

void open_large(bool colour, uint64_t seed) {
  coloured = colour;
  random_places = rt::Random(seed);
}

void* take_large(size_t size, size_t alignment, bool& zeroed) {
  if (size > most || alignment > most) return nullptr;
  const uint64_t beyond = alignment > unit_size ? alignment - unit_size : 0;
  const uint64_t room = coloured ? colour_room : 0;
  const uint64_t units = (size + beyond + room + unit_size - 1) >> unit_bits;
  Span* span = arena.take(units == 0 ? 1 : units, Purpose::large, zeroed);
  if (span == nullptr) return nullptr;
  span->block = choose_block(span, size, alignment);
  lead_to(span->block, span);
  count(counts.taken, 1);
  count(counts.bytes, size);
  return reinterpret_cast<void*>(span->block);
}

void give_large(Span* span) {
  count(counts.given, 1);
  arena.give(span);
}

void* resize_large(Span* span, size_t size) {
  const size_t room = room_in_large(span);
  if (size > most) return nullptr;
  const uint64_t units = (span->block - span->start + size + unit_size - 1) >> unit_bits;
  if (size <= room) {
    if (units < span->units / 2) arena.resize(span, units);
    return reinterpret_cast<void*>(span->block);
  }
  if (arena.resize(span, units)) {
    count(counts.bytes, size - room);
    return reinterpret_cast<void*>(span->block);
  }
  bool zeroed = false;
  void* moved = take_large(size, 16, zeroed);
  if (moved == nullptr) return nullptr;
  Span* to = span_of(moved);
  if (move_contents(span, to, room)) {
    moved = reinterpret_cast<void*>(to->block);
  } else {
    rt::copy_bytes(moved, reinterpret_cast<void*>(span->block), room);
  }
  give_large(span);
  return moved;
}

LargeCounts large_counts() {
  return {__atomic_load_n(&counts.taken, __ATOMIC_RELAXED),
          __atomic_load_n(&counts.given, __ATOMIC_RELAXED),
          __atomic_load_n(&counts.bytes, __ATOMIC_RELAXED)};
}

void lock_large() {
  random_lock.lock();
}
void unlock_large() {
  random_lock.unlock();
}

}  // namespace stab::heap
