// SPDX-License-Identifier: MIT
// SHA-256 by libmd. sha256_word() uses the SHA instructions of the CPU instead, if it has them.

#include "base/hash.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace stab {
namespace {

// The compression function (FIPS 180-4, 6.2.2) with the CPU's SHA instructions.
#ifdef __x86_64__

#define STAB_SHA __attribute__((target("sha,sse4.1")))

// The constants of FIPS 180-4, 4.2.2.
alignas(16) constexpr std::array<std::uint32_t, 64> constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The instructions take the eight words of the state in two registers: (a b e f) and (c d g h).
struct Halves {
  __m128i abef;
  __m128i cdgh;
};

STAB_SHA Halves split(const std::array<std::uint32_t, 8>& state) {
  const auto* words = reinterpret_cast<const __m128i*>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  return {.abef = _mm_alignr_epi8(badc, hgfe, 8), .cdgh = _mm_blend_epi16(hgfe, badc, 0xf0)};
}

STAB_SHA void join(const Halves& halves, std::array<std::uint32_t, 8>& state) {
  auto* words = reinterpret_cast<__m128i*>(state.data());
  const __m128i feba = _mm_shuffle_epi32(halves.abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(halves.cdgh, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

// Does four rounds with four words of the message schedule.
STAB_SHA void four_rounds(Halves& halves, __m128i words, std::size_t first) {
  const auto* added = reinterpret_cast<const __m128i*>(constants.data() + first);
  const __m128i sum = _mm_add_epi32(words, _mm_load_si128(added));
  halves.cdgh = _mm_sha256rnds2_epu32(halves.cdgh, halves.abef, sum);
  halves.abef = _mm_sha256rnds2_epu32(halves.abef, halves.cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

STAB_SHA void compress_block(Halves& halves, const std::uint8_t* block) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const Halves before = halves;
  std::array<__m128i, 4> words;  // the last sixteen words of the schedule
  for (std::size_t i = 0; i < 4; ++i) {
    const auto* bytes = reinterpret_cast<const __m128i*>(block + 16 * i);
    words[i] = _mm_shuffle_epi8(_mm_loadu_si128(bytes), big_endian);
    four_rounds(halves, words[i], 4 * i);
  }
  for (std::size_t i = 4; i < 16; ++i) {
    const __m128i last = words[(i - 1) % 4];
    const __m128i seven_back = _mm_alignr_epi8(last, words[(i - 2) % 4], 4);
    __m128i next = _mm_sha256msg1_epu32(words[i % 4], words[(i - 3) % 4]);
    next = _mm_sha256msg2_epu32(_mm_add_epi32(next, seven_back), last);
    words[i % 4] = next;
    four_rounds(halves, next, 4 * i);
  }
  halves.abef = _mm_add_epi32(halves.abef, before.abef);
  halves.cdgh = _mm_add_epi32(halves.cdgh, before.cdgh);
}

// Whether this CPU has the instructions.
bool has_sha256_instructions() {
  static const bool has = __builtin_cpu_supports("sse4.1") != 0 && [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29U & 1U) != 0;
  }();
  return has;
}

// Compresses `count` blocks of 64 bytes into the state. Requires has_sha256_instructions().
STAB_SHA void compress_with_instructions(std::array<std::uint32_t, 8>& state,
                                         const std::uint8_t* blocks, std::size_t count) {
  Halves halves = split(state);
  for (std::size_t i = 0; i < count; ++i) compress_block(halves, blocks + 64 * i);
  join(halves, state);
}

#else

bool has_sha256_instructions() {
  return false;
}

void compress_with_instructions(std::array<std::uint32_t, 8>&, const std::uint8_t*, std::size_t) {
  std::abort();
}

#endif

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
