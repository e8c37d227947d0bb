// SPDX-License-Identifier: MIT
#include "runtime/image/near_memory.h"

#include "runtime/base/os.h"

namespace stab::rt {
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
