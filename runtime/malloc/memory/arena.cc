// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/arena.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"

namespace stab::heap {
namespace {

constexpr unsigned smallest = 6;  // log2 of the smallest piece
constexpr unsigned largest = 16;  // larger ones are mapped on their own
constexpr uint64_t chunk_size = uint64_t{256} << 10;

struct Piece {
  Piece* next;
};

Piece* unused[largest + 1];
uint64_t chunk_next;
uint64_t chunk_end;

unsigned log2_of(size_t size) {
  const unsigned bits =
      size <= 1 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(uint64_t{size} - 1));
  return bits < smallest ? smallest : bits;
}

void* map_pages(size_t size) {
  const long got = os::map(0, rt::align_up(size, os::page_size), os::read | os::write);
  return os::failed(got) ? nullptr : reinterpret_cast<void*>(got);
}

}  // namespace

Lock metadata_lock;

void* new_metadata(size_t size) {
  const unsigned bits = log2_of(size);
  if (bits > largest) return map_pages(size);
  const uint64_t rounded = uint64_t{1} << bits;
  const Guard guard(metadata_lock);
  if (Piece* piece = unused[bits]; piece != nullptr) {
    unused[bits] = piece->next;
    rt::fill_bytes(piece, 0, rounded);
    return piece;
  }
  if (chunk_end - chunk_next < rounded) {
    void* chunk = map_pages(chunk_size);
    if (chunk == nullptr) return nullptr;
    chunk_next = reinterpret_cast<uint64_t>(chunk);
    chunk_end = chunk_next + chunk_size;
  }
  void* piece = reinterpret_cast<void*>(chunk_next);
  chunk_next += rounded;
  return piece;
}

void drop_metadata(void* dropped, size_t size) {
  if (dropped == nullptr) return;
  const unsigned bits = log2_of(size);
  if (bits > largest) {
    os::unmap(reinterpret_cast<uint64_t>(dropped), rt::align_up(size, os::page_size));
    return;
  }
  const Guard guard(metadata_lock);
  auto* piece = static_cast<Piece*>(dropped);
  piece->next = unused[bits];
  unused[bits] = piece;
}

Span** directory[leaves];

constinit Span no_span = [] {
  Span span{};
  span.bag = no_bag;
  return span;
}();

bool prepare_directory(uint64_t start, uint64_t size) {
  for (uint64_t leaf = start >> leaf_bits; leaf <= (start + size - 1) >> leaf_bits; ++leaf) {
    if (leaf >= leaves) return false;
    if (directory[leaf] != nullptr) continue;
    const long got = os::map(0, leaf_entries * sizeof(Span*), os::read | os::write);
    if (os::failed(got)) return false;
    __atomic_store_n(&directory[leaf], reinterpret_cast<Span**>(got), __ATOMIC_RELEASE);
  }
  return true;
}

void lead_to(uint64_t address, Span* span) {
  STAB_DEBUG(Spans, 1, address >> leaf_bits < leaves && directory[address >> leaf_bits] != nullptr);
  Span** leaf = directory[address >> leaf_bits];
  __atomic_store_n(&leaf[(address >> unit_bits) & (leaf_entries - 1)], span, __ATOMIC_RELEASE);
}

void lead_to_ends(Span* span) {
  STAB_DEBUG(Spans, 1, span->units != 0 && span->start % unit_size == 0);
  lead_to(span->start, span);
  lead_to(span->end() - 1, span);
}

void lead_to_all(Span* span) {
  for (uint64_t at = span->start; at < span->end(); at += unit_size) lead_to(at, span);
}

void lead_nowhere(const Span* span) {
  if (span->purpose == Purpose::large) return lead_to(span->block, &no_span);
  for (uint64_t at = span->start; at < span->end(); at += unit_size) lead_to(at, &no_span);
}

namespace {

// The kernel chooses no addresses between 16 and 80 TB by itself.
constexpr uint64_t lowest = uint64_t{16} << 40;
constexpr uint64_t highest = uint64_t{80} << 40;
constexpr int attempts = 16;

constexpr uint64_t smallest_step = 16;  // units by which a range grows
constexpr uint64_t largest_step = 1024;
constexpr uint64_t exact_bins = 32;         // up to this many units, each number has its own bin
constexpr uint64_t written_at_least = 128;  // this many written units may be unused before a purge
constexpr uint64_t raises_limit_up_to = 513;  // 32 MB, and room for a random place
constexpr uint64_t unmap_from = 16;           // a shorter span keeps its addresses in a purge

// The random places of large blocks.
rt::Random random_places{0};
bool coloured;

unsigned bin_of(uint64_t units) {
  if (units <= exact_bins) return static_cast<unsigned>(units - 1);
  const unsigned bin =
      static_cast<unsigned>(exact_bins) + 58 - static_cast<unsigned>(__builtin_clzll(units));
  return bin < 63 ? bin : 63;
}

Span* new_span(uint64_t start, uint64_t units, Backing backing) {
  auto* span = static_cast<Span*>(new_metadata(sizeof(Span)));
  if (span == nullptr) return nullptr;
  span->start = start;
  span->units = static_cast<uint32_t>(units);
  span->backing = backing;
  span->bag = no_bag;
  return span;
}

// The unused span that ends or starts here, and is not kept whole.
Span* unused_at(uint64_t address) {
  Span* span = span_of(reinterpret_cast<void*>(address));
  return span != nullptr && span->purpose == Purpose::unused && !span->kept ? span : nullptr;
}

}  // namespace

constinit Arena arena;

void Arena::open(uint64_t seed, Site site) {
  random_ = rt::Random(seed);
  site_ = site;
  STAB_ALWAYS(Spans, 4, !is_open_);
  is_open_ = true;
}

// Clears the old purpose before others can read the new one.
void Arena::reset(Span* span) {
  span->purpose.is_ = Purpose::unused;
  span->bag = no_bag;
  span->free_bits = nullptr;
  span->block = 0;
}

void Arena::insert(Span* span) {
  const unsigned bin = bin_of(span->units);
  span->previous = nullptr;
  span->next = bin_[bin];
  if (span->next != nullptr) span->next->previous = span;
  bin_[bin] = span;
  occupied_ |= uint64_t{1} << bin;
  if (span->backing == Backing::written) written_ += span->units;
  lead_to_ends(span);
}

void Arena::remove(Span* span) {
  const unsigned bin = bin_of(span->units);
  if (span->previous != nullptr) span->previous->next = span->next;
  if (span->next != nullptr) span->next->previous = span->previous;
  if (bin_[bin] == span) bin_[bin] = span->next;
  if (bin_[bin] == nullptr) occupied_ &= ~(uint64_t{1} << bin);
  if (span->backing == Backing::written) written_ -= span->units;
}

void Arena::merge_and_insert(Span* span) {
  if (Span* before = unused_at(span->start - 1);
      before != nullptr && before->end() == span->start && before->backing == span->backing) {
    remove(before);
    lead_to(before->end() - 1, &no_span);
    lead_to(span->start, &no_span);
    span->start = before->start;
    span->units += before->units;
    drop_metadata(before, sizeof(Span));
  }
  if (Span* after = unused_at(span->end());
      after != nullptr && after->start == span->end() && after->backing == span->backing) {
    remove(after);
    lead_to(span->end() - 1, &no_span);
    lead_to(after->start, &no_span);
    span->units += after->units;
    drop_metadata(after, sizeof(Span));
  }
  insert(span);
}

// A program that frees a large block often allocates one of the same size soon. So the span is kept
// whole for a while, which saves merging it and cutting it again.
void Arena::keep(Span* span) {
  span->kept = true;  // before others are merged, which must leave it alone
  while (kept_count_ == most_kept || kept_units_ + span->units > most_kept_units)
    merge_and_insert(
        stop_keeping(coloured ? static_cast<uint32_t>(random_places.below(kept_count_)) : 0));
  lead_to_ends(span);
  kept_[kept_count_++] = span;
  kept_units_ += span->units;
  written_ += span->units;
  STAB_DEBUG(Spans, 5, kept_count_ <= most_kept && kept_units_ <= most_kept_units);
}

// The span is in none of the arena's lists afterwards.
Span* Arena::stop_keeping(uint32_t index) {
  Span* span = kept_[index];
  kept_[index] = kept_[--kept_count_];
  STAB_DEBUG(Spans, 2, span->kept && span->purpose == Purpose::unused);
  span->kept = false;
  kept_units_ -= span->units;
  written_ -= span->units;
  return span;
}

// Returns one of the kept spans of this size, at random, or nullptr.
Span* Arena::take_kept(uint64_t units) {
  uint32_t fitting[most_kept];
  uint32_t count = 0;
  for (uint32_t i = 0; i < kept_count_; ++i)
    if (kept_[i]->units == units) fitting[count++] = i;
  if (count == 0) return nullptr;
  return stop_keeping(fitting[coloured ? random_places.below(count) : 0]);
}

void Arena::merge_all_kept() {
  while (kept_count_ != 0) merge_and_insert(stop_keeping(kept_count_ - 1));
}

// Returns the unused span behind this one, or nullptr. It is not kept whole any more.
Span* Arena::unused_behind(const Span* span) {
  Span* after = span_of(reinterpret_cast<void*>(span->end()));
  if (after == nullptr || after->purpose != Purpose::unused || after->start != span->end())
    return nullptr;
  for (uint32_t i = 0; i < kept_count_; ++i)
    if (kept_[i] == after) {
      merge_and_insert(stop_keeping(i));
      break;
    }
  return after;
}

// Returns the smallest span that is large enough, or any of them if several are equal.
Span* Arena::find(uint64_t units) {
  const unsigned first = bin_of(units);
  for (uint64_t rest = occupied_ >> first << first; rest != 0; rest &= rest - 1) {
    Span* best = nullptr;
    for (Span* span = bin_[__builtin_ctzll(rest)]; span != nullptr; span = span->next) {
      if (span->units < units || (best != nullptr && span->units >= best->units)) continue;
      best = span;
      if (best->units == units) break;
    }
    if (best != nullptr) return best;
  }
  return nullptr;
}

// Shortens a span that is in use to `units`; the rest goes back to the arena.
void Arena::cut(Span* span, uint64_t units) {
  if (span->units == units) return;
  Span* rest = new_span(span->start + (units << unit_bits), span->units - units, span->backing);
  if (rest == nullptr) return;  // without memory for the rest's record, the span keeps its length
  span->units = static_cast<uint32_t>(units);
  lead_to_ends(span);
  merge_and_insert(rest);
}

// Takes the first `units` of an unused span out of the arena and maps them. Others may have mapped
// the addresses of an absent span, and then the arena loses these addresses.
bool Arena::claim(Span* span, uint64_t units) {
  STAB_ALWAYS(Spans, 2, span->purpose == Purpose::unused && span->units >= units);
  remove(span);
  span->purpose.is_ = Purpose::large;
  cut(span, units);
  if (span->backing != Backing::absent) return true;
  const long got = os::map(span->start, span->size(), os::read | os::write);
  if (!os::failed(got)) {
    mapped_ += span->units;
    span->backing = Backing::zero;
    return true;
  }
  if (got == os::error_exists) {
    lead_to(span->start, &no_span);
    lead_to(span->end() - 1, &no_span);
    return false;
  }
  span->purpose.is_ = Purpose::unused;
  merge_and_insert(span);
  return false;
}

uint64_t Arena::map_at_end(uint64_t size) {
  constexpr int rw = os::read | os::write;
  for (int i = 0; site_ == Site::by_seed && i < attempts; ++i) {
    if (end_ == 0) end_ = (lowest + random_.below(highest - lowest)) & -unit_size;
    if (prepare_directory(end_, size) && !os::failed(os::map(end_, size, rw))) return end_;
    // The addresses may be in use, or memory may be exhausted: a mapping elsewhere tells which.
    const long elsewhere = os::map(0, size, os::none);
    if (os::failed(elsewhere)) return 0;
    os::unmap(static_cast<uint64_t>(elsewhere), size);
    end_ = 0;
  }
  const long got = os::map(0, size + unit_size, rw);
  if (os::failed(got)) return 0;
  const auto start = static_cast<uint64_t>(got);
  const uint64_t aligned = (start + unit_size - 1) & -unit_size;
  if (aligned != start) os::unmap(start, aligned - start);
  if (start + unit_size != aligned) os::unmap(aligned + size, start + unit_size - aligned);
  if (prepare_directory(aligned, size)) return aligned;
  os::unmap(aligned, size);
  return 0;
}

bool Arena::grow(uint64_t units) {
  uint64_t step = mapped_ / 8;
  step = step < smallest_step ? smallest_step : step > largest_step ? largest_step : step;
  if (step < units) step = units;
  uint64_t start = map_at_end(step << unit_bits);
  if (start == 0 && step > units) start = map_at_end((step = units) << unit_bits);
  if (start == 0) return false;
  Span* span = new_span(start, step, Backing::zero);
  if (span == nullptr) {
    os::unmap(start, step << unit_bits);
    return false;
  }
  end_ = span->end();
  mapped_ += step;
  merge_and_insert(span);
  return true;
}

Span* Arena::take(uint64_t units, Purpose purpose, bool& zeroed) {
  const Guard guard(lock);
  return take_locked(units, purpose, zeroed);
}

Span* Arena::take_locked(uint64_t units, Purpose purpose, bool& zeroed) {
  STAB_ALWAYS(Spans, 4, is_open_);
  if (units > UINT32_MAX / 2) return nullptr;
  if (Span* kept = take_kept(units); kept != nullptr) {
    zeroed = false;
    kept->purpose.is_ = purpose;
    used_ += kept->units;
    return kept;
  }
  for (;;) {
    Span* span = find(units);
    // No fresh memory is used while written memory may be enough. If the kernel refuses fresh
    // memory, a limit on the address space may count the written memory, so that is returned.
    if (kept_count_ != 0 && (span == nullptr || span->backing != Backing::written)) {
      merge_all_kept();
      continue;
    }
    if (span == nullptr) {
      if (!grow(units) && !return_written()) return nullptr;
      continue;
    }
    if (!claim(span, units)) {
      if (span->purpose == Purpose::unused && !return_written()) return nullptr;
      continue;
    }
    zeroed = span->backing == Backing::zero;
    span->purpose.is_ = purpose;
    used_ += span->units;
    lead_to_ends(span);
    return span;
  }
}

void Arena::give(Span* span) {
  const Guard guard(lock);
  give_locked(span);
}

void Arena::give_locked(Span* span) {
  STAB_ALWAYS(Spans, 2, span->purpose != Purpose::unused);
  STAB_ALWAYS(Spans, 3, span->units <= used_);
  used_ -= span->units;
  const bool is_large = span->purpose == Purpose::large;
  const uint64_t units = span->units;
  lead_nowhere(span);
  reset(span);
  span->backing = Backing::written;
  if (is_large && units <= exact_bins)
    keep(span);
  else
    merge_and_insert(span);
  const uint64_t limit =
      2 * largest_given_ > written_at_least ? 2 * largest_given_ : written_at_least;
  if (written_ > limit && written_ > used_ / 8) purge();
  // libc's thresholds rise in the same way, after the block's pages were returned: from the second
  // such block on, the pages are used again.
  if (is_large && units <= raises_limit_up_to && units > largest_given_) largest_given_ = units;
}

bool Arena::resize(Span* span, uint64_t units) {
  const Guard guard(lock);
  STAB_ALWAYS(Spans, 2, span->purpose != Purpose::unused);
  if (units < span->units) {
    const uint64_t before = span->units;
    span->backing = Backing::written;
    cut(span, units);
    used_ -= before - span->units;
    lead_to_ends(span);
    return true;
  }
  const uint64_t more = units - span->units;
  if (more == 0) return true;
  Span* after = unused_behind(span);
  if (after == nullptr || after->units < more) return false;
  if (!claim(after, more)) return false;
  lead_to(after->start, &no_span);
  span->units += after->units;
  used_ += after->units;
  drop_metadata(after, sizeof(Span));
  lead_to_ends(span);
  return true;
}

void Arena::purge(Span* span) {
  remove(span);
  // The kernel reuses unmapped addresses outside of these bounds: another span could get them, too.
  const bool stays_free = span->start >= lowest && span->end() <= highest;
  if (stays_free && span->units >= unmap_from &&
      !os::failed(os::unmap(span->start, span->size()))) {
    span->backing = Backing::absent;
    mapped_ -= span->units;
  } else if (!os::failed(os::discard(span->start, span->size()))) {
    span->backing = Backing::zero;
  }
  merge_and_insert(span);
}

// Merging changes the lists, so each bin is scanned from its start again.
void Arena::purge() {
  merge_all_kept();
  for (unsigned bin = 0; bin < bins; ++bin) {
    Span* span = bin_[bin];
    while (span != nullptr) {
      if (span->backing == Backing::written) {
        purge(span);
        if (span->backing == Backing::written) return;  // the kernel refused
        span = bin_[bin];
      } else {
        span = span->next;
      }
    }
  }
}

uint64_t Arena::used() {
  const Guard guard(lock);
  return used_ << unit_bits;
}

bool Arena::return_written() {
  const uint64_t before = written_;
  if (before != 0) purge();
  return written_ < before;
}

bool Arena::trim() {
  const Guard guard(lock);
  return return_written();
}

namespace {

constexpr uint64_t colour_step = 64;
// A block may begin on any page of its first unit, so this many bytes may lie before it.
constexpr uint64_t colour_room = unit_size - os::page_size;
constexpr uint64_t most = uint64_t{1} << 46;
// From this size on remapping pages is cheaper than copying, and it splits few mappings.
constexpr uint64_t move_from = uint64_t{1} << 20;

LargeCounts counts;

// Atomic, because large_counts() takes no lock.
void count(uint64_t& what, uint64_t by) {
  __atomic_store_n(&what, what + by, __ATOMIC_RELAXED);
}

uint64_t choose_block(const Span* span, uint64_t size, uint64_t alignment) {
  const uint64_t first = rt::align_up(span->start, alignment);
  if (!coloured) return first;
  const uint64_t step = alignment < colour_step ? colour_step : alignment;
  const uint64_t slack = span->end() - first - size;
  return first + step * random_places.below((slack < colour_room ? slack : colour_room) / step + 1);
}

// Moves `size` bytes to a block for `new_size`: remaps the whole pages and copies the rest. The new
// block gets the same offset in its page, which may leave it too little room.
bool move_contents(const Span* from, Span* to, uint64_t size, uint64_t new_size) {
  if (size < move_from || !coloured) return false;
  const uint64_t in_page = from->block % os::page_size;
  const uint64_t block = (to->block & -os::page_size) + in_page;
  const uint64_t pages = (in_page + size) / os::page_size * os::page_size;
  if (block + new_size > to->end()) return false;
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
  reseed_large(seed);
}

void* take_large(size_t size, size_t alignment, bool& zeroed) {
  if (size > most || alignment > most) return nullptr;
  const uint64_t beyond = alignment > unit_size ? alignment - unit_size : 0;
  const uint64_t room = coloured ? colour_room : 0;
  const uint64_t units = (size + beyond + room + unit_size - 1) >> unit_bits;
  const Guard guard(arena.lock);
  Span* span = arena.take_locked(units == 0 ? 1 : units, Purpose::large, zeroed);
  if (span == nullptr) return nullptr;
  span->block = choose_block(span, size, alignment);
  lead_to(span->block, span);
  count(counts.taken, 1);
  count(counts.bytes, size);
  return reinterpret_cast<void*>(span->block);
}

void give_large(Span* span) {
  const Guard guard(arena.lock);
  count(counts.given, 1);
  arena.give_locked(span);
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
    const Guard guard(arena.lock);
    count(counts.bytes, size - room);
    return reinterpret_cast<void*>(span->block);
  }
  bool zeroed = false;
  void* moved = take_large(size, 16, zeroed);
  if (moved == nullptr) return nullptr;
  Span* to = span_of(moved);
  if (move_contents(span, to, room, size)) {
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

void reseed_large(uint64_t seed) {
  random_places = rt::Random(seed);
}

}  // namespace stab::heap
