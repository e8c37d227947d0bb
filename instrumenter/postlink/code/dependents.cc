// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/code/code.h"

namespace stab::instrumenter {

namespace {

// Returns whether any was pinned.
bool pin_those_entered_by(const Function& function, Program& program, const Pinning& pinning) {
  bool any = false;
  for (const Operand& operand : function.decoded.operands) {
    if (operand.use != Operand::Use::branch || function.contains(operand.target)) continue;
    Function* other = program.find(operand.target);
    if (other == nullptr || !other->movable() || other->start == operand.target) continue;
    if (operand.target - other->start >= abi::entry_bytes) continue;
    pinning.pin(*other, abi::PinReason::label_reference);
    any = true;
  }
  return any;
}

}  // namespace

PinsAreKnown pin_dependents(Program& program, TablesAreKnown /*tables*/,
                            SwitchesAreKnown /*switches*/, Pinning pinning) {
  for (const Function& function : program.unsized) pin_those_entered_by(function, program, pinning);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Function& function : program.functions)
      if (!function.movable()) changed |= pin_those_entered_by(function, program, pinning);
  }
  return {};
}

}  // namespace stab::instrumenter
