// SPDX-License-Identifier: MIT
#include "runtime/image/switchboard.h"

#include "runtime/abi/validate.h"
#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/place.h"

namespace stab::rt {
namespace {

constexpr uint8_t omit = 0xff;
constexpr uint8_t trap_opcode = 0xcc;
constexpr uint8_t jump_opcode = 0xe9;
constexpr uint64_t jump_size = 5;

// A LEB128 number of a fixed length, which holds any 64-bit distance, backwards too.
void store_leb(uint8_t* at, uint64_t value) {
  for (uint32_t i = 0; i < abi::exception_types_bytes; ++i, value >>= 7) {
    const bool last = i + 1 == abi::exception_types_bytes;
    at[i] = static_cast<uint8_t>((value & 0x7f) | (last ? 0 : 0x80));
  }
}

void store64(uint8_t* at, uint64_t value) {
  __builtin_memcpy(at, &value, sizeof value);
}

// The displacement of a jump at `at`, which follows the opcode.
uint32_t displacement(uint64_t at, uint64_t target) {
  const uint64_t distance = target - (at + jump_size);
  STAB_DEBUG(Image, 2, static_cast<int64_t>(distance) == static_cast<int32_t>(distance));
  return static_cast<uint32_t>(distance);
}

}  // namespace

Switchboard measure_switchboard(const abi::Header& table, uint64_t description_bytes) {
  Switchboard board;
  board.functions = table.functions.count;
  board.labels = table.labels.count;
  board.data_size = align_up(board.functions, os::page_size);
  board.stubs_size =
      align_up((uint64_t{board.functions} + board.labels) * Switchboard::stub_bytes, os::page_size);
  board.exceptions_size = align_up(table.exceptions.count, 8);
  board.tables_size = align_up(board.exceptions_size + description_bytes, os::page_size);
  uint64_t labels_size = 0;
  for (uint32_t i = 0; i < board.labels; ++i) labels_size += label_description_size(table, i);
  board.labels_size = align_up(labels_size, os::page_size);
  return board;
}

uint64_t label_description_size(const abi::Header& table, uint32_t label) {
  constexpr uint64_t end = 4;
  const uint32_t f = elements<abi::Label>(table, table.labels)[label].function;
  const abi::Function& function = elements<abi::Function>(table, table.functions)[f];
  if (function.fde == 0) return 0;
  const abi::Cie& cie = elements<abi::Cie>(table, table.cies)[function.cie];
  return align_up(Switchboard::label_header_bytes + cie.size + function.fde_size + end, 4);
}

void write_switchboard(const Switchboard& board, const abi::Header& table, const uint8_t* base) {
  fill_bytes(board.function_stub(0), trap_opcode, board.stubs_size);
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
    store64(at + 1, reinterpret_cast<uint64_t>(board.label_stub(0)) - Switchboard::stub_bytes);
    if (at[9] == omit) continue;
    uint8_t* field = at + abi::exception_types_field;
    store_leb(field, reinterpret_cast<uint64_t>(base + functions[f].exception_types) -
                         reinterpret_cast<uint64_t>(field + abi::exception_types_bytes));
  }
}

bool seal(const Switchboard& board) {
  return !os::failed(os::protect(address_of(board.exceptions()), board.tables_size, os::read));
}

StubsDraft::StubsDraft(const Switchboard& board) : board_(board) {
  const long memory = os::map(0, board.stubs_size, os::read | os::write);
  if (os::failed(memory)) return;
  memory_ = reinterpret_cast<uint8_t*>(memory);
  copy_bytes(memory_, board.function_stub(0), board.stubs_size);
}

StubsDraft::~StubsDraft() {
  if (memory_ != nullptr) os::unmap(address_of(memory_), board_.stubs_size);
}

void StubsDraft::lead(const uint8_t* stub, uint64_t target) {
  uint8_t* at = memory_ + (stub - board_.function_stub(0));
  at[0] = jump_opcode;
  store32(at + 1, displacement(address_of(stub), target));
}

bool StubsDraft::put_in_place() {
  if (!put_code(address_of(memory_), board_.stubs_size, address_of(board_.function_stub(0))))
    return false;
  memory_ = nullptr;
  return true;
}

void write_jump(uint8_t* at, const uint8_t* target) {
  uint8_t bytes[8];
  __builtin_memcpy(bytes, at, sizeof bytes);
  bytes[0] = jump_opcode;
  store32(bytes + 1, displacement(address_of(at), address_of(target)));
  uint64_t value = 0;
  __builtin_memcpy(&value, bytes, sizeof value);
  __atomic_store_n(reinterpret_cast<uint64_t*>(at), value, __ATOMIC_RELEASE);
}

}  // namespace stab::rt
