// SPDX-License-Identifier: MIT
// Stages that analyse a program's code: the fields that a copy has to adjust, the labels inside
// functions, and what makes functions or layouts stay. postlink.cc has their order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// Turns every function's operands into fixups and checks them against the relocations.
void analyse_code(Program& program);

// Finds the registers of each function that hold jump tables' addresses and no other 64-bit
// values.
void find_address_registers(Program& program);

// Pins functions whose named labels are used for more than jumps, and functions whose bytes or
// range the program uses.
void analyse_labels(Program& program);

// Finds functions' labels in data, and jump tables.
void analyse_data(Program& program);

// Takes apart the exception tables of functions that can move; their landing pads become labels.
void analyse_exceptions(Program& program);

// Finds code that switches stacks.
void analyse_switches(Program& program);

// Pins functions that a pinned function jumps into behind their entry: they have to stay as they
// were linked. Nothing is pinned afterwards.
void pin_dependents(Program& program);

// Exception tables (LSDA) for code that may move again while an exception is thrown. The unwinder
// keeps the address of a landing pad while destructors run, which may take long, so a landing pad
// is a stub, which never moves.
//
// Returns the bytes that abi::ExceptionTable describes. `number` maps a label to its number in the
// runtime's table.
std::vector<std::uint8_t> write_exceptions(
    const Exceptions& exceptions, const std::function<std::uint32_t(std::uint32_t)>& number);

}  // namespace stab::instrumenter
