// SPDX-License-Identifier: MIT
// SHA-256's compression with the instructions that processors have for it (FIPS 180-4, 6.2.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stab {

// Whether this processor has them.
bool has_sha256_instructions();

// Takes `count` blocks of 64 bytes into the state. Only where the processor has the instructions.
void compress_with_instructions(std::array<std::uint32_t, 8>& state, const std::uint8_t* blocks,
                                std::size_t count);

}  // namespace stab
