// SPDX-License-Identifier: MIT
#include "tests/randomness/heap_case.h"

#include <algorithm>
#include <cstring>

#include "machine/measured_run.h"

namespace stab::randomness {

std::vector<std::uint64_t> addresses_of(const HeapCase& heap) {
  machine::Launch launch;
  launch.argv = {STAB_ADDRESSES, heap.pattern, std::to_string(heap.size), std::to_string(sequence)};
  if (!heap.options.empty())
    launch.environment = {"LD_PRELOAD=" STAB_HEAP_LIBRARY,
                          "STABILIZER_OPTIONS=heap=1:strict=1:" + heap.options};
  launch.directory = "/";
  launch.output_limit = sequence * sizeof(std::uint64_t) + 1;
  const machine::Ended ended = machine::run(launch);
  std::vector<std::uint64_t> addresses;
  if (ended.how != machine::End::exited || ended.exit_code != 0) return addresses;
  addresses.resize(ended.out.size() / sizeof(std::uint64_t));
  std::memcpy(addresses.data(), ended.out.data(), addresses.size() * sizeof(std::uint64_t));
  return addresses;
}

Bits bit_of(const std::vector<std::uint64_t>& addresses, unsigned bit) {
  Bits bits;
  for (const std::uint64_t address : addresses)
    bits.push_back(static_cast<std::uint8_t>(address >> bit & 1U));
  return bits;
}

Score score(const std::vector<std::uint64_t>& addresses, unsigned first_bit, unsigned last_bit) {
  Score score;
  for (unsigned bit = first_bit; bit <= last_bit; ++bit) {
    const Bits bits = bit_of(addresses, bit);
    for (const Outcome& outcome : all_tests(bits)) {
      ++score.tests;
      score.passed += outcome.p >= alpha ? 1 : 0;
    }
    score.least_entropy = std::min(score.least_entropy, entropy(bits));
  }
  return score;
}

}  // namespace stab::randomness
