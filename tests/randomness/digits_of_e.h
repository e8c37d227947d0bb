// SPDX-License-Identifier: MIT
// The sequence on which the standard's reference figures are computed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/randomness/nist.h"

namespace stab::randomness {

// The binary digits of e, of which the first two are 10: e = 1 + 1/1 (1 + 1/2 (1 + 1/3 (...))) in
// fixed point. What stands behind 1/k is divided by (k-1)! in the end, so fewer digits of it count.
inline Bits e_digits(std::size_t count) {
  constexpr double guard = 128;
  const double wanted = static_cast<double>(count) + guard;
  std::vector<double> bits_of_factorial{0};
  while (bits_of_factorial.back() < wanted)
    bits_of_factorial.push_back(bits_of_factorial.back() +
                                std::log2(static_cast<double>(bits_of_factorial.size())));
  std::vector<std::uint32_t> number(static_cast<std::size_t>(wanted) / 32 + 2);
  for (std::uint64_t k = bits_of_factorial.size(); k >= 1; --k) {
    number[0] += 1;  // the first word is the whole part
    const auto words = static_cast<std::size_t>((wanted - bits_of_factorial[k - 1]) / 32) + 2;
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < words && i < number.size(); ++i) {
      const std::uint64_t value = rest << 32U | number[i];
      number[i] = static_cast<std::uint32_t>(value / k);
      rest = value % k;
    }
  }
  number[0] += 1;
  Bits result{1, 0};
  for (std::size_t i = 0; result.size() < count; ++i)
    result.push_back(static_cast<std::uint8_t>(number[1 + i / 32] >> (31 - i % 32) & 1U));
  return result;
}

}  // namespace stab::randomness
