// SPDX-License-Identifier: MIT
#include "runtime/heap.h"

#include "runtime/os.h"

namespace stab::rt {
namespace {

constexpr uint64_t reach = (uint64_t{1} << 31) - (uint64_t{1} << 20);
constexpr uint64_t lowest_address = uint64_t{1} << 20;
// Behind an executable comes the heap of brk(), which grows.
constexpr uint64_t room_for_brk = uint64_t{512} << 20;
constexpr int attempts = 64;

struct Window {
  uint64_t first = 0;
  uint64_t pages = 0;  // of possible starts
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

}  // namespace

bool reserve_near(CodeHeap& heap, uint64_t low, uint64_t high, Random& random) {
  const Window windows[2] = {below(low, high, heap.size()), above(low, high, heap.size())};
  for (int attempt = 0; attempt < attempts; ++attempt) {
    // Below first: nothing grows there. The upper window is for images at low addresses and crowded
    // ones.
    const Window& chosen = windows[(attempt & 3) == 3 || windows[0].pages == 0 ? 1 : 0];
    if (chosen.pages == 0) continue;
    const uint64_t address = chosen.first + random.below(chosen.pages) * os::page_size;
    const long got = os::map(address, heap.size(), os::none);
    if (os::failed(got)) continue;
    heap.start = reinterpret_cast<uint8_t*>(got);
    const int writable = os::read | os::write;
    if (!os::failed(os::protect(address, heap.half_size, writable)) &&
        !os::failed(os::protect(reinterpret_cast<uint64_t>(heap.stubs()),
                                heap.stubs_size + heap.unwind_size, writable)))
      return true;
    release(heap);
  }
  return false;
}

bool seal(const CodeHeap& heap) {
  const auto stubs = reinterpret_cast<uint64_t>(heap.stubs());
  return !os::failed(os::protect(reinterpret_cast<uint64_t>(heap.start), heap.half_size,
                                 os::read | os::execute)) &&
         (heap.stubs_size == 0 ||
          !os::failed(os::protect(stubs, heap.stubs_size, os::read | os::execute))) &&
         (heap.unwind_size == 0 ||
          !os::failed(os::protect(stubs + heap.stubs_size, heap.unwind_size, os::read)));
}

void release(CodeHeap& heap) {
  if (heap.start != nullptr) os::unmap(reinterpret_cast<uint64_t>(heap.start), heap.size());
  heap.start = nullptr;
}

}  // namespace stab::rt
