// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/code/code.h"
#include "instrumenter/postlink/program/references.h"

namespace stab::instrumenter {

namespace {

// Undecoded bytes may be data, in which a branch leads anywhere by chance.
bool may_lead(const Function& from, const Function& to, std::uint64_t target) {
  return from.decoded.complete || !to.contains(target) || !to.decoded.complete ||
         to.starts_instruction(target);
}

// Returns whether it pinned a function. The branches of a function that moves lead to copies,
// except for branches to code between functions.
bool pin_those_entered_by(const Function& function, Program& program) {
  bool any = false;
  references_of(function, [&](const Reference& reference) {
    if (reference.kind != Reference::Kind::branch || function.contains(reference.first)) return;
    if (function.movable() && program.find(reference.first) != nullptr) return;
    Function* other = program.find_overwritten(reference.first);
    if (other == nullptr || !other->movable()) return;
    if (!may_lead(function, *other, reference.first)) return;
    program.pin(*other, abi::PinReason::label_reference);
    any = true;
  });
  return any;
}

}  // namespace

void pin_dependents(Program& program) {
  for (const Function& function : program.unsized) pin_those_entered_by(function, program);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Function& function : program.functions)
      changed |= pin_those_entered_by(function, program);
  }
  program.pins_are_final = true;
}

}  // namespace stab::instrumenter
