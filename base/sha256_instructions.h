// SPDX-License-Identifier: MIT
// SHA-256's compression function (FIPS 180-4, 6.2.2) with the CPU's SHA instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stab {

// Whether this CPU has the instructions.
bool has_sha256_instructions();

// Compresses `count` blocks of 64 bytes into the state. Requires has_sha256_instructions().
void compress_with_instructions(std::array<std::uint32_t, 8>& state, const std::uint8_t* blocks,
                                std::size_t count);

}  // namespace stab
