// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/code/code.h"

namespace stab::instrumenter {
namespace {

// The ABI uses DWARF's register numbers. Among the preserved registers, only rbp has another
// number in the decoder.
std::uint32_t registers_of(const DecodedFunction& decoded) {
  constexpr unsigned rbp_of_dwarf = 6;
  if (!decoded.complete) return 0;
  const std::uint32_t rbp = decoded.values >> rbp_number & 1U;
  const std::uint32_t values = (decoded.values & ~(1U << rbp_of_dwarf)) | rbp << rbp_of_dwarf;
  return abi::preserved_registers & ~values;
}

// Hot and cold parts are separate functions here, but they work on the same registers.
bool joins(const Function& from, const Operand& operand, const Function& to) {
  return operand.is_branch() && &from != &to && operand.target != to.start;
}

}  // namespace

void find_address_registers(Program& program) {
  for (Function& function : program.functions)
    function.address_registers = registers_of(function.decoded);
  for (const Function& function : program.unsized)
    for (const Operand& operand : function.decoded.operands)
      if (Function* to = program.find(operand.target);
          to != nullptr && joins(function, operand, *to))
        to->address_registers &= registers_of(function.decoded);
  for (bool changed = true; changed;) {
    changed = false;
    for (Function& function : program.functions) {
      for (const Operand& operand : function.decoded.operands) {
        Function* to = program.find(operand.target);
        if (to == nullptr || !joins(function, operand, *to)) continue;
        const std::uint32_t both = function.address_registers & to->address_registers;
        changed |= both != function.address_registers || both != to->address_registers;
        function.address_registers = to->address_registers = both;
      }
    }
  }
}

}  // namespace stab::instrumenter
