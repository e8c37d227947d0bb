// SPDX-License-Identifier: MIT
#include "runtime/image/place.h"

#include "runtime/base/check.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

constexpr uint64_t smallest_span = uint64_t{2} * span_step;

void shuffle(uint32_t* items, uint32_t count, Random& random) {
  for (uint32_t i = 0; i < count; ++i) items[i] = i;
  for (uint32_t i = count; i > 1; --i) {
    const uint64_t j = random.below(i);
    const uint32_t other = items[j];
    items[j] = items[i - 1];
    items[i - 1] = other;
  }
}

// A radix sort, least significant byte first: after four passes the result is back in `keys`.
void sort(uint32_t* keys, uint32_t* other, uint32_t count) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    uint32_t begin[257];
    for (uint32_t& b : begin) b = 0;
    for (uint32_t i = 0; i < count; ++i) ++begin[((keys[i] >> shift) & 255) + 1];
    for (unsigned b = 1; b < 257; ++b) begin[b] += begin[b - 1];
    for (uint32_t i = 0; i < count; ++i) other[begin[(keys[i] >> shift) & 255]++] = keys[i];
    uint32_t* swap = keys;
    keys = other;
    other = swap;
  }
}

void reverse(uint32_t* items, uint32_t first, uint32_t last) {
  for (; first + 1 < last; ++first) {
    --last;
    const uint32_t item = items[first];
    items[first] = items[last];
    items[last] = item;
  }
}

// Moves items[0..middle) behind the rest.
void rotate(uint32_t* items, uint32_t middle, uint32_t count) {
  reverse(items, 0, middle);
  reverse(items, middle, count);
  reverse(items, 0, count);
}

}  // namespace

uint64_t span_for(uint64_t total_units) {
  const uint64_t wanted = (2 * total_units + span_step - 1) / span_step * span_step;
  return wanted < smallest_span ? smallest_span : wanted;
}

void place(const uint32_t* sizes, uint32_t count, uint64_t span, Random& random, uint32_t* order,
           uint32_t* position, uint32_t* scratch) {
  if (count == 0) return;
  uint64_t total = 0;
  for (uint32_t f = 0; f < count; ++f) total += sizes[f];
  STAB_ALWAYS(Placement, 1, span % span_step == 0 && 2 * total <= span);
  shuffle(order, count, random);
  // The free units before the function of each rank are an ordered sample, like points thrown on a
  // line.
  for (uint32_t k = 0; k < count; ++k)
    scratch[k] = static_cast<uint32_t>(random.below(span - total + 1));
  sort(scratch, scratch + count, count);
  const uint64_t turn = random.below(span);
  uint64_t used = 0;
  uint32_t first = 0;  // rank of the lowest position
  for (uint32_t k = 0; k < count; ++k) {
    position[k] = static_cast<uint32_t>((turn + scratch[k] + used) % span);
    if (k > 0 && position[k] < position[k - 1]) first = k;
    used += sizes[order[k]];
  }
  rotate(order, first, count);
  rotate(position, first, count);
  STAB_EXPENSIVE(Placement, 2, is_valid_placement(sizes, count, span, order, position, scratch));
}

bool is_valid_placement(const uint32_t* sizes, uint32_t count, uint64_t span, const uint32_t* order,
                        const uint32_t* position, uint32_t* scratch) {
  for (uint32_t f = 0; f < count; ++f) scratch[f] = 0;
  for (uint32_t k = 0; k < count; ++k) {
    if (order[k] >= count || scratch[order[k]]++ != 0 || position[k] >= span) return false;
    if (k > 0 && position[k] < uint64_t{position[k - 1]} + sizes[order[k - 1]]) return false;
  }
  return true;
}

namespace {

constexpr uint64_t reach = (uint64_t{1} << 31) - (uint64_t{1} << 20);
constexpr uint64_t lowest_address = uint64_t{1} << 20;
// The heap of brk(), which grows, lies behind an executable.
constexpr uint64_t room_for_brk = uint64_t{512} << 20;
constexpr int attempts = 64;
constexpr uint64_t ample_pages = 1 << 16;

struct Window {
  uint64_t first = 0;
  uint64_t pages = 0;  // number of possible starts
};

Window window(uint64_t first, uint64_t last) {
  if (last <= first) return {};
  return {first, (last - first) / os::page_size};
}

Window below(uint64_t low, uint64_t high, uint64_t size) {
  if (low < size + lowest_address) return {};
  const uint64_t first = high > reach + lowest_address ? high - reach : lowest_address;
  return window((first + os::page_size - 1) & -os::page_size, low - size);
}

Window above(uint64_t low, uint64_t high, uint64_t size) {
  const uint64_t first = (high + room_for_brk + os::page_size - 1) & -os::page_size;
  return low + reach < first + size ? Window{} : window(first, low + reach - size);
}

// Most attempts are below the image, because nothing grows there. The window above is for images at
// low addresses and for crowded ones. Later layouts have to find room on the same side.
Side side_of_attempt(Side wanted, int attempt, bool room_below) {
  if (wanted != Side::either) return wanted;
  return (attempt & 3) == 3 || !room_below ? Side::above : Side::below;
}

}  // namespace

uint8_t* reserve_near(uint64_t size, uint64_t low, uint64_t high, Random& random, Side& side) {
  const Window windows[2] = {below(low, high, size), above(low, high, size)};
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Side chosen = side_of_attempt(side, attempt, windows[0].pages >= ample_pages);
    const Window& from = windows[chosen == Side::above ? 1 : 0];
    if (from.pages == 0) continue;
    const uint64_t address = from.first + random.below(from.pages) * os::page_size;
    const long got = os::map(address, size, os::read | os::write);
    if (os::failed(got)) continue;
    side = chosen;
    return reinterpret_cast<uint8_t*>(got);
  }
  return nullptr;
}

bool can_put_code() {
  const long from = os::map(0, os::page_size, os::read | os::write);
  const long to = os::map(0, os::page_size, os::read | os::execute);
  const bool can = !os::failed(from) && !os::failed(to) &&
                   put_code(static_cast<uint64_t>(from), os::page_size, static_cast<uint64_t>(to));
  if (!os::failed(from) && !can) os::unmap(static_cast<uint64_t>(from), os::page_size);
  if (!os::failed(to)) os::unmap(static_cast<uint64_t>(to), os::page_size);
  return can;
}

bool put_code(uint64_t from, uint64_t size, uint64_t to) {
  if (os::failed(os::protect(from, size, os::read | os::execute))) return false;
  if (!os::failed(os::put_pages(from, size, to))) return true;
  if (os::readable(to)) return false;
  constexpr char message[] = "stabilizer: code cannot be moved to its new address\n";
  os::write_all(2, message, sizeof message - 1);
  os::exit_process(127);
}

}  // namespace stab::rt
