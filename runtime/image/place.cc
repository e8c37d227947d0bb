// SPDX-License-Identifier: MIT
#include "runtime/image/place.h"

#include "runtime/base/check.h"

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

}  // namespace stab::rt
