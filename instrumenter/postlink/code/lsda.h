// SPDX-License-Identifier: MIT
// Exception tables (LSDA) for code that may move again while an exception is thrown: the unwinder
// keeps the address of a landing pad while destructors run, which may take long. So a landing pad
// is a stub, which never moves.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// As abi::ExceptionTable says. `number` gives a label's number in the runtime's table.
std::vector<std::uint8_t> write_exceptions(
    const Exceptions& exceptions, const std::function<std::uint32_t(std::uint32_t)>& number);

}  // namespace stab::instrumenter
