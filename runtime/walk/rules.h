// SPDX-License-Identifier: MIT
// Where a frame keeps what belongs to its caller, at one place in its code: call frame information,
// interpreted.
#pragma once

#include <stdint.h>

#include "runtime/walk/description.h"
#include "runtime/walk/walk.h"

namespace stab::rt {

enum class Rule : uint8_t {
  unspecified,
  undefined,
  same,
  offset,         // in memory, at the CFA plus a number
  value_offset,   // the CFA plus a number
  other,          // in another register
  expression,     // in memory, where an expression says
  value_formula,  // what an expression says
};

constexpr uint32_t column_count = 17;

struct Row {
  Rule rules[column_count];
  // Of an expression: its length's place in the description, or if negative ~place in the CIE.
  int32_t numbers[column_count];
  bool cfa_is_expression;
  uint8_t cfa_register;
  int32_t cfa_number;  // offset or expression
};

// Finds what holds at the instruction `offset` bytes into the function. Returns false if the
// description is corrupt or says what no compiler for this machine says.
bool interpret(const FrameDescription& description, uint64_t offset, Row& row, bool& signal_frame);

// The operations of an expression of a row.
ByteReader expression_of(const FrameDescription& description, int32_t number);

}  // namespace stab::rt
