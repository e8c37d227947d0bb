// SPDX-License-Identifier: MIT
#include "runtime/image/switchboard.h"

#include "runtime/abi/validate.h"
#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

constexpr uint64_t word = 8;
constexpr uint8_t omit = 0xff;

// LEB128 of a fixed length: any 64-bit distance, backwards too.
void store_leb(uint8_t* at, uint64_t value) {
  for (uint32_t i = 0; i < abi::exception_types_bytes; ++i, value >>= 7) {
    const bool last = i + 1 == abi::exception_types_bytes;
    at[i] = static_cast<uint8_t>((value & 0x7f) | (last ? 0 : 0x80));
  }
}

void store64(uint8_t* at, uint64_t value) {
  __builtin_memcpy(at, &value, sizeof value);
}

}  // namespace

Switchboard measure_switchboard(const abi::Header& table) {
  Switchboard board;
  board.functions = table.functions.count;
  board.label_bytes = uint64_t{table.labels.count} * word;
  constexpr uint64_t line = 64;
  board.present_offset = align_up(uint64_t{board.functions} * (word + 1) + board.label_bytes, line);
  board.data_size = align_up(board.present_offset + line, os::page_size);
  board.stubs_size = align_up(board.label_bytes, os::page_size);
  board.tables_size = align_up(table.exceptions.count, os::page_size);
  return board;
}

void write_switchboard(const Switchboard& board, const abi::Header& table, const uint8_t* base) {
  for (uint32_t i = 0; i < table.labels.count; ++i)
    write_indirect_jump(board.stub(i), board.label_target(i));
  copy_bytes(board.exceptions(), elements<uint8_t>(table, table.exceptions),
             table.exceptions.count);
  const auto* functions = elements<abi::Function>(table, table.functions);
  for (uint32_t f = 0; f < board.functions; ++f) {
    if (functions[f].exceptions_size == 0) continue;
    STAB_DEBUG(Table, 7,
               functions[f].exceptions_size >= sizeof(abi::ExceptionTable) &&
                   uint64_t{functions[f].exceptions} + functions[f].exceptions_size <=
                       table.exceptions.count);
    uint8_t* at = board.exceptions() + functions[f].exceptions;
    store64(at + 1, reinterpret_cast<uint64_t>(board.stub(0)) - word);
    if (at[9] == omit) continue;
    uint8_t* field = at + abi::exception_types_field;
    store_leb(field, reinterpret_cast<uint64_t>(base + functions[f].exception_types) -
                         reinterpret_cast<uint64_t>(field + abi::exception_types_bytes));
  }
}

bool seal(const Switchboard& board) {
  const auto stubs = reinterpret_cast<uint64_t>(board.stub(0));
  return (board.stubs_size == 0 ||
          !os::failed(os::protect(stubs, board.stubs_size, os::read | os::execute))) &&
         (board.tables_size == 0 ||
          !os::failed(os::protect(stubs + board.stubs_size, board.tables_size, os::read)));
}

void write_indirect_jump(uint8_t* at, const uint64_t* target) {
  uint8_t bytes[8];
  __builtin_memcpy(bytes, at, sizeof bytes);
  bytes[0] = 0xff;
  bytes[1] = 0x25;
  store32(bytes + 2, static_cast<uint32_t>(reinterpret_cast<uint64_t>(target) -
                                           (reinterpret_cast<uint64_t>(at) + 6)));
  uint64_t value = 0;
  __builtin_memcpy(&value, bytes, sizeof value);
  __atomic_store_n(reinterpret_cast<uint64_t*>(at), value, __ATOMIC_RELEASE);
}

}  // namespace stab::rt
