// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace stab {

void Sha256::add(std::string_view bytes) {
  SHA256Update(&state_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

void Sha256::add_field(std::string_view bytes) {
  add(fmt::format("{}:", bytes.size()));
  add(bytes);
}

std::string Sha256::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256Final(digest.data(), &state_);
  std::string text;
  for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::uint64_t Sha256::word() {
  static_assert(std::endian::native == std::endian::little);
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256Final(digest.data(), &state_);
  std::uint64_t word = 0;
  std::memcpy(&word, digest.data(), sizeof word);
  return word;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

}  // namespace stab
