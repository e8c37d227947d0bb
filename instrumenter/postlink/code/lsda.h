// SPDX-License-Identifier: MIT
// Exception tables (LSDA) for code that may move again while an exception is thrown. The unwinder
// keeps the address of a landing pad while destructors run, which may take long, so a landing pad
// is a stub, which never moves.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// Returns the bytes that abi::ExceptionTable describes. `number` maps a label to its number in the
// runtime's table.
std::vector<std::uint8_t> write_exceptions(
    const Exceptions& exceptions, const std::function<std::uint32_t(std::uint32_t)>& number);

}  // namespace stab::instrumenter
