// SPDX-License-Identifier: MIT
// SHA-256, for build keys, output checks and the checksums of stored rows.
#pragma once

#include <sha2.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace stab {

// Add the pieces, then call hex() or word() once.
class Sha256 {
 public:
  Sha256() { SHA256Init(&state_); }
  void add(std::string_view bytes);
  // Puts the length before the bytes, so that the fields ("ab", "c") and ("a", "bc") have different
  // digests.
  void add_field(std::string_view bytes);
  // Lower-case hexadecimal, 64 digits.
  std::string hex();
  // The first eight bytes of the digest as a number.
  std::uint64_t word();

 private:
  SHA2_CTX state_;
};

std::string sha256_hex(std::string_view bytes);
// Returns word() for these bytes. Uses the CPU's SHA instructions if there are any, and is fast for
// many short texts.
std::uint64_t sha256_word(std::string_view bytes);

}  // namespace stab
