// SPDX-License-Identifier: MIT
#include "runtime/walk/code.h"

namespace stab::rt {
namespace {

// The length of an indirect call or far call, from its opcode on, or 0 if it is another
// instruction.
uint32_t indirect_call_length(const uint8_t* opcode, uint32_t count) {
  if (count < 2 || opcode[0] != 0xff) return 0;
  const uint8_t mode = opcode[1] >> 6;
  const uint8_t action = opcode[1] >> 3 & 7;
  const uint8_t base = opcode[1] & 7;
  if (action != 2 && (action != 3 || mode == 3)) return 0;
  if (mode == 3) return 2;
  const bool has_sib = base == 4;
  if (has_sib && count < 3) return 0;
  const uint32_t length = has_sib ? 3 : 2;
  if (mode == 1) return length + 1;
  if (mode == 2) return length + 4;
  const bool has_displacement = has_sib ? (opcode[2] & 7) == 5 : base == 5;
  return length + (has_displacement ? 4 : 0);
}

bool matches(const uint8_t* code, const uint8_t* pattern, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (code[i] != pattern[i]) return false;
  return true;
}

constexpr uint8_t long_trampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t short_trampoline[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};

bool is_jump_through_got(const uint8_t* at) {
  return at[0] == 0xff && at[1] == 0x25;
}
bool is_push_of_got(const uint8_t* at) {
  return at[0] == 0xff && at[1] == 0x35;
}
// push index; jmp to the first entry
bool is_lazy_pair(const uint8_t* at) {
  return at[0] == 0x68 && at[5] == 0xe9;
}
// In mold's PLT an entry loads the index into r11, and the PLT's first entry pushes it.
bool is_index_load(const uint8_t* at) {
  return at[0] == 0x41 && at[1] == 0xbb && is_jump_through_got(at + 6);
}
bool is_index_push(const uint8_t* at) {
  return at[0] == 0x41 && at[1] == 0x53 && is_push_of_got(at + 2);
}
// The beginnings that may follow an endbr64.
bool is_beginning(const uint8_t* at) {
  return is_jump_through_got(at) || is_lazy_pair(at) || is_index_load(at) || is_index_push(at);
}

}  // namespace

bool ends_with_call(const uint8_t* end, uint32_t count) {
  if (count >= 5 && end[-5] == 0xe8) return true;
  for (uint32_t length = 2; length <= longest_call && length <= count; ++length)
    if (indirect_call_length(end - length, length) == length) return true;
  return false;
}

bool is_trampoline(const uint8_t* code, uint32_t count) {
  return (count >= sizeof long_trampoline &&
          matches(code, long_trampoline, sizeof long_trampoline)) ||
         (count >= sizeof short_trampoline &&
          matches(code, short_trampoline, sizeof short_trampoline));
}

bool is_trampoline_end(const uint8_t* at, uint32_t count) {
  return (count >= 7 && is_trampoline(at - 7, 9)) || (count >= 5 && is_trampoline(at - 5, 7));
}

int plt_pushed(const uint8_t* at) {
  if (matches(at, endbr, sizeof endbr)) return is_beginning(at + sizeof endbr) ? 0 : plt_no;
  if (is_jump_through_got(at) && is_push_of_got(at - 6)) return 16;
  if (is_beginning(at)) return 0;
  if (at[0] == 0xe9 && at[-5] == 0x68) return 8;
  if (is_push_of_got(at) && is_jump_through_got(at + 6)) return 8;
  return plt_no;
}

}  // namespace stab::rt
