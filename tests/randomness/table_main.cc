// SPDX-License-Identifier: MIT
// Prints the tables of doc/randomness.md.
#include <fmt/format.h>

#include <array>

#include "tests/randomness/heap_case.h"

namespace {

using stab::randomness::HeapCase;

constexpr std::array<std::size_t, 6> sizes{16, 32, 64, 256, 1024, 4096};
constexpr std::array<const char*, 4> patterns{"grow", "queue", "churn", "pair"};

struct Row {
  const char* base;
  const char* mode;
  const char* options;
};
constexpr std::array<Row, 9> rows{
    {{"shuffled", "default", "seed=1"},
     {"shuffled", "heap_order=64K", "seed=1:heap_order=64K"},
     {"shuffled", "heap_order=never", "seed=1:heap_order=never"},
     {"shuffled", "heap_order=never, heap_bag=4096", "seed=1:heap_order=never:heap_bag=4096"},
     {"power2", "N = 256", "seed=1:allocator=power2"},
     {"tlsf", "N = 256", "seed=1:allocator=tlsf"},
     {"system", "N = 256", "seed=1:allocator=system"},
     {"bitmap", "", "seed=1:allocator=bitmap"},
     {"glibc", "without us", ""}}};

// The tests that passed, and the least entropy of a bit.
std::string cell(const HeapCase& heap, unsigned first_bit, unsigned last_bit) {
  const auto addresses = addresses_of(heap);
  if (addresses.empty()) return "failed";
  const auto score = stab::randomness::score(addresses, first_bit, last_bit);
  return fmt::format("{} % {:.3f}", 100 * score.passed / score.tests, score.least_entropy);
}

void table(unsigned first_bit, unsigned last_bit) {
  fmt::print("\nBits {} to {}:\n\n| base | mode | pattern |", first_bit, last_bit);
  for (const std::size_t size : sizes) fmt::print(" {} B |", size);
  fmt::print("\n|---|---|---|");
  for (std::size_t i = 0; i < sizes.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const Row& row : rows)
    for (const char* pattern : patterns) {
      fmt::print("| {} | {} | {} |", row.base, row.mode, pattern);
      for (const std::size_t size : sizes)
        fmt::print(" {} |", cell({row.options, pattern, size}, first_bit, last_bit));
      fmt::print("\n");
      std::fflush(stdout);
    }
}

}  // namespace

int main() {
  fmt::print("lrand48, bits 6 to 11: {}\n", cell({"", "lrand48", 0}, 6, 11));
  table(6, 11);
  table(12, 17);
}
