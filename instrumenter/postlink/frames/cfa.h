// SPDX-License-Identifier: MIT
// The canonical frame address of a function at each instruction, according to its frame
// description.
#pragma once

#include <cstdint>
#include <vector>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

struct CfaRow {
  static constexpr unsigned unknown = ~0u;
  std::uint32_t from = 0;   // offset in the function; the row holds up to the next row's offset
  unsigned base = unknown;  // DWARF number of a register
  std::uint64_t offset = 0;
};

// A number in the description: the distance of the CFA from the stack pointer.
struct CfaField {
  std::uint32_t place = 0;  // from the start of the description
  std::uint32_t width = 0;
  std::uint64_t value = 0;
};

struct CfaTable {
  std::vector<CfaRow> rows;
  std::vector<CfaField> fields;

  [[nodiscard]] const CfaRow* at(std::uint32_t offset) const;
};

constexpr unsigned dwarf_rbp = 6;
constexpr unsigned dwarf_rsp = 7;

// Returns no rows if there is no description, or it is not understood.
CfaTable read_cfa(const Program& program, const Function& function);

}  // namespace stab::instrumenter
