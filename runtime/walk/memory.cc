// SPDX-License-Identifier: MIT
#include "runtime/walk/memory.h"

#include "runtime/base/os.h"

namespace stab::rt {
namespace {

constexpr uint64_t user_end = uint64_t{1} << 63;

uint64_t page_of(uint64_t address) {
  return address & -os::page_size;
}

bool code_readable(Walk& walk, uint64_t address) {
  if (walk.code == Walk::Code::described &&
      address - walk.description.function_start < walk.description.function_size)
    return true;
  const uint64_t page = page_of(address);
  if (page == walk.readable_code) return true;
  if (address >= user_end || !os::readable(page)) return false;
  walk.readable_code = page;
  return true;
}

}  // namespace

void begin_stack(Walk& walk, uint64_t stack_pointer) {
  walk.readable_start = page_of(stack_pointer - red_zone);
  walk.readable_end = walk.readable_start;
}

bool read_stack(Walk& walk, uint64_t address, uint64_t& value) {
  if (address % sizeof value != 0 || address >= user_end || address < walk.readable_start ||
      address - walk.readable_start >= most_stack)
    return false;
  while (address >= walk.readable_end) {
    if (!os::readable(walk.readable_end)) return false;
    walk.readable_end += os::page_size;
  }
  value = load64(reinterpret_cast<const void*>(address));
  return true;
}

bool read_code(Walk& walk, uint64_t address, uint8_t* to, uint32_t count) {
  if (address + count < address) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (!code_readable(walk, address + i)) return false;
    to[i] = *reinterpret_cast<const uint8_t*>(address + i);
  }
  return true;
}

}  // namespace stab::rt
