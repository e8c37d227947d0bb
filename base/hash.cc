// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/sha256_instructions.h"

namespace stab {
namespace {

// The digest's first eight bytes; FIPS 180-4 defines the initial state (5.3.3) and the padding
// (5.1.1).
std::uint64_t word_with_instructions(std::string_view bytes) {
  std::array<std::uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::size_t whole = bytes.size() / 64;
  const std::size_t rest = bytes.size() % 64;
  compress_with_instructions(state, reinterpret_cast<const std::uint8_t*>(bytes.data()), whole);
  std::array<std::uint8_t, 128> end{};
  if (rest > 0) std::memcpy(end.data(), bytes.data() + 64 * whole, rest);
  end[rest] = 0x80;
  const std::size_t blocks = rest < 56 ? 1 : 2;
  const std::uint64_t bits = std::byteswap(std::uint64_t{bytes.size()} * 8);
  std::memcpy(end.data() + 64 * blocks - sizeof bits, &bits, sizeof bits);
  compress_with_instructions(state, end.data(), blocks);
  return std::byteswap(state[0]) | std::uint64_t{std::byteswap(state[1])} << 32U;
}

}  // namespace

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

std::uint64_t sha256_word(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  if (has_sha256_instructions()) return word_with_instructions(bytes);
  Sha256 hash;
  hash.add(bytes);
  return hash.word();
}

}  // namespace stab
