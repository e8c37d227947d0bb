// SPDX-License-Identifier: MIT
// Finds, reads and interprets the call frame description of an address in .eh_frame. A function has
// a description of its own (FDE), and shares one with other functions (CIE).
#pragma once

#include <stdint.h>

#include "runtime/base/byte_reader.h"
#include "runtime/walk/walk.h"

namespace stab::rt {

// The addresses at which the image is mapped. Its table and its descriptions are readable.
struct Extent {
  uint64_t start;
  uint64_t end;
};

// Finds the description of a pc by the image's sorted table (.eh_frame_hdr). Returns false if the
// pc is in no function, or if linkers don't write tables of this kind. It reads nothing outside the
// extent.
bool find_in_image_header(uint64_t pc, const uint8_t* eh_frame_hdr, const Extent& image,
                          FrameDescription& description);

constexpr uint32_t return_column = 16;

struct Common {
  uint64_t code_align = 0;
  int64_t data_align = 0;
  uint8_t encoding = 0;  // of addresses in the FDE
  bool augmented = false;
  bool signal_frame = false;
};

// Both leave the reader at the instructions. The reader has failed if the description is corrupt,
// or is of a kind that is not used on this machine.
ByteReader read_common(const FrameDescription& description, Common& common);
ByteReader read_description(const FrameDescription& description, const Common& common);

// A row says where a frame keeps its caller's registers and return address at one place in its
// code.

enum class Rule : uint8_t {
  unspecified,
  undefined,
  same,
  offset,         // in memory, at the CFA plus a number
  value_offset,   // the CFA plus a number
  other,          // kept in another register
  expression,     // in memory, where an expression says
  value_formula,  // the value of an expression
};

constexpr uint32_t column_count = 17;

struct Row {
  Rule rules[column_count];
  // For an expression, the number is the place of its length in the FDE. A negative number is
  // ~place in the CIE.
  int32_t numbers[column_count];
  bool cfa_is_expression;
  uint8_t cfa_register;
  int32_t cfa_number;  // offset or expression
};

// Computes the row for the instruction `offset` bytes into the function. Returns false if the
// description is corrupt, or has rules that no compiler for this machine writes.
bool interpret(const FrameDescription& description, uint64_t offset, Row& row, bool& signal_frame);

// The operations of an expression to which a row refers.
ByteReader expression_of(const FrameDescription& description, int32_t number);

}  // namespace stab::rt
