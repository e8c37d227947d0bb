// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/slabs.h"

#include "runtime/base/check.h"
#include "runtime/base/os.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/misuse.h"

namespace stab::heap {
namespace {

constexpr uint32_t slots_for_colour =
    16;  // a slab with this many or more gives up one for its offset

// Atomic, because a thread that frees a block reads its bit without the lock.
void store(uint64_t& word, uint64_t bits) {
  __atomic_store_n(&word, bits, __ATOMIC_RELAXED);
}

uint32_t words_of(const Span* slab) {
  return (slab->slots + 63) / 64;
}

void set_all_free(Span* slab) {
  for (uint32_t w = 0; w < words_of(slab); ++w) {
    const uint32_t rest = slab->slots - w * 64;
    slab->free_bits[w] = rest >= 64 ? ~uint64_t{0} : (uint64_t{1} << rest) - 1;
  }
  slab->free_slots = slab->slots;
}

// The first word with a free slot. The slab must have one.
uint32_t first_word(Span* slab) {
  STAB_DEBUG(Slabs, 2, slab->hint < words_of(slab));
  while (slab->free_bits[slab->hint] == 0) ++slab->hint;
  return slab->hint;
}

// Returns the free slots of the next word that has any, starting at slab->row, and moves slab->row
// behind that word. The slab must have a free slot.
uint64_t next_bits(Span* slab, uint32_t& w) {
  w = slab->row / 64;
  uint64_t bits = slab->free_bits[w] >> (slab->row % 64) << (slab->row % 64);
  while (bits == 0) {
    w = w + 1 == words_of(slab) ? 0 : w + 1;
    bits = slab->free_bits[w];
  }
  slab->row = w + 1 == words_of(slab) ? 0 : 64 * (w + 1);
  return bits;
}

// A random offset. If more than a page is spare, only whole pages of it are used, so that each
// offset in a page is equally likely.
uint64_t choose_colour(rt::Random& random, uint64_t spare) {
  const uint64_t steps = spare / 16 + 1;
  constexpr uint64_t page = os::page_size / 16;
  return 16 * random.below(steps < page ? steps : steps / page * page);
}

}  // namespace

constinit Slabs slabs;

void Slabs::open(const Classes& classes, bool colour, uint64_t seed) {
  classes_ = &classes;
  colour_ = colour;
  reseed(seed);
}

void Slabs::reseed(uint64_t seed) {
  for (unsigned c = 0; c < most_classes; ++c) {
    rt::Random mix(seed + c);
    central_[c].random = rt::Random(mix.next());
  }
}

void Slabs::link(Central& central, Span* slab) {
  slab->previous = nullptr;
  slab->next = central.partial;
  if (slab->next != nullptr) slab->next->previous = slab;
  central.partial = slab;
}

void Slabs::unlink(Central& central, Span* slab) {
  if (slab->previous != nullptr) slab->previous->next = slab->next;
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  if (central.partial == slab) central.partial = slab->next;
}

Span* Slabs::make_slab(unsigned c) {
  Central& central = central_[c];
  const uint32_t size = classes_->size[c];
  bool zeroed = false;
  Span* slab = arena.take(slab_units(size), Purpose::slab, zeroed);
  if (slab == nullptr) return nullptr;
  auto slots = static_cast<uint32_t>(slab->size() / size);
  if (colour_ && slots >= slots_for_colour) --slots;
  slab->slots = slots;
  slab->free_bits = static_cast<uint64_t*>(new_metadata(size_t{words_of(slab)} * 8));
  if (slab->free_bits == nullptr) {
    arena.give(slab);
    return nullptr;
  }
  const uint64_t spare = slab->size() - uint64_t{slots} * size;
  slab->first = slab->start + (colour_ ? choose_colour(central.random, spare) : 0);
  slab->slot_size = size;
  slab->reciprocal = reciprocal_of(size);
  slab->hint = 0;
  slab->row = 0;
  set_all_free(slab);
  slab->size_class = static_cast<uint8_t>(c);
  __atomic_store_n(&slab->bag, static_cast<uint8_t>(c), __ATOMIC_RELAXED);
  lead_to_all(slab);
  __atomic_store_n(&central.bytes, central.bytes + slab->size(), __ATOMIC_RELAXED);
  link(central, slab);
  return slab;
}

Span* Slabs::slab_with_room(unsigned c) {
  Span* slab = central_[c].partial;
  return slab != nullptr ? slab : make_slab(c);
}

unsigned Slabs::take(unsigned c, void** slots, unsigned count) {
  Central& central = central_[c];
  const Guard guard(central.lock);
  unsigned found = 0;
  while (found < count) {
    Span* slab = slab_with_room(c);
    if (slab == nullptr) break;
    STAB_ALWAYS(Slabs, 2, slab->free_slots != 0 && slab->size_class == c);
    while (found < count && slab->free_slots != 0) {
      const uint32_t w = first_word(slab);
      uint64_t bits = slab->free_bits[w];
      for (; bits != 0 && found < count; bits &= bits - 1) {
        const auto slot = w * 64 + static_cast<uint32_t>(__builtin_ctzll(bits));
        slots[found++] = reinterpret_cast<void*>(slab->address_of(slot));
        --slab->free_slots;
      }
      store(slab->free_bits[w], bits);
    }
    if (slab->free_slots == 0) unlink(central, slab);
  }
  STAB_EXPENSIVE(Slabs, 2, is_valid(c));
  return found;
}

bool Slabs::take_row(unsigned c, Row& row) {
  Central& central = central_[c];
  const Guard guard(central.lock);
  Span* slab = slab_with_room(c);
  if (slab == nullptr) return false;
  STAB_ALWAYS(Slabs, 2, slab->free_slots != 0 && slab->size_class == c);
  if (slab->free_slots == slab->slots)
    slab->row = static_cast<uint32_t>(central.random.below(slab->slots));
  uint32_t w = 0;
  row.bits = next_bits(slab, w);
  row.base = slab->address_of(w * 64);
  store(slab->free_bits[w], slab->free_bits[w] & ~row.bits);
  slab->free_slots -= static_cast<uint32_t>(__builtin_popcountll(row.bits));
  if (slab->free_slots == 0) unlink(central, slab);
  STAB_EXPENSIVE(Slabs, 2, is_valid(c));
  return true;
}

// Takes the slot back and returns nullptr, or returns the reason why it can't.
const char* Slabs::give_slot(unsigned c, uint64_t address) {
  Central& central = central_[c];
  Span* slab = span_of(reinterpret_cast<void*>(address));
  // If a block was freed twice, its slab may have been given back and have another purpose by now.
  if (slab->purpose != Purpose::slab || slab->size_class != c) return no_block;
  const uint32_t slot = slab->slot_at(address);
  const uint32_t w = slot / 64;
  const uint64_t bit = uint64_t{1} << (slot % 64);
  if (slab->address_of(slot) != address) return no_block;
  STAB_DEBUG(Slabs, 3, slot < slab->slots);
  if ((slab->free_bits[w] & bit) != 0) return freed_twice;
  STAB_ALWAYS(Slabs, 1, slab->free_slots < slab->slots);
  store(slab->free_bits[w], slab->free_bits[w] | bit);
  if (w < slab->hint) slab->hint = w;
  if (slab->free_slots++ == 0) link(central, slab);
  if (slab->free_slots < slab->slots) return nullptr;
  // A class keeps its last slab with free slots.
  if (slab->previous == nullptr && slab->next == nullptr) return nullptr;
  unlink(central, slab);
  __atomic_store_n(&central.bytes, central.bytes - slab->size(), __ATOMIC_RELAXED);
  drop_metadata(slab->free_bits, size_t{words_of(slab)} * 8);
  arena.give(slab);
  return nullptr;
}

void Slabs::give(unsigned c, void* const* slots, unsigned count) {
  const Guard guard(central_[c].lock);
  for (unsigned i = 0; i < count; ++i)
    if (const char* why = give_slot(c, reinterpret_cast<uint64_t>(slots[i])); why != nullptr)
      note_damage(why);
  STAB_EXPENSIVE(Slabs, 2, is_valid(c));
}

void Slabs::give_row(unsigned c, const Row& row) {
  const Guard guard(central_[c].lock);
  for (uint64_t bits = row.bits; bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<unsigned>(__builtin_ctzll(bits));
    if (const char* why = give_slot(c, row.base + slot * uint64_t{classes_->size[c]});
        why != nullptr)
      note_damage(why);
  }
}

bool Slabs::is_valid(unsigned c) const {
  const Span* before = nullptr;
  for (const Span* slab = central_[c].partial; slab != nullptr; slab = slab->next) {
    uint32_t bits = 0;
    for (uint32_t w = 0; w < words_of(slab); ++w)
      bits += static_cast<uint32_t>(__builtin_popcountll(slab->free_bits[w]));
    if (bits != slab->free_slots || bits == 0 || bits > slab->slots) return false;
    if (slab->previous != before || slab->size_class != c || slab->first % 16 != 0) return false;
    if (slab->first < slab->start || slab->address_of(slab->slots) > slab->end()) return false;
    before = slab;
  }
  return true;
}

bool Slabs::is_valid() {
  for (unsigned c = 0; c < classes_->count; ++c) {
    const Guard guard(central_[c].lock);
    if (!is_valid(c)) return false;
  }
  return true;
}

void Slabs::lock_all() {
  for (Central& central : central_) central.lock.lock();
}

void Slabs::unlock_all() {
  for (Central& central : central_) central.lock.unlock();
}

}  // namespace stab::heap
