// SPDX-License-Identifier: MIT
// SHA-256, for build keys, output checks and the checksums of stored rows.
#pragma once

#include <sha2.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace stab {

// Feed pieces, then take the digest once.
class Sha256 {
 public:
  Sha256() { SHA256Init(&state_); }
  void add(std::string_view bytes);
  // A length before the bytes: ("ab", "c") and ("a", "bc") differ.
  void add_field(std::string_view bytes);
  // Lower-case hexadecimal, 64 digits.
  std::string hex();
  // The first eight bytes of the digest as a number.
  std::uint64_t word();

 private:
  SHA2_CTX state_;
};

std::string sha256_hex(std::string_view bytes);
// As word() of the bytes. Fast for many short texts: it uses the processor's instructions for it.
std::uint64_t sha256_word(std::string_view bytes);

}  // namespace stab
