// SPDX-License-Identifier: MIT
// Prints the tables of doc/randomness.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "tests/randomness/heap_case.h"

namespace {

using stab::randomness::HeapCase;

constexpr std::array<std::size_t, 6> sizes{16, 32, 64, 256, 1024, 4096};
constexpr std::array<const char*, 5> patterns{"grow", "queue", "churn", "pair", "long"};

struct Row {
  const char* base;
  const char* mode;
  const char* options;
};
constexpr std::array<Row, 10> rows{
    {{"shuffled", "default", "seed=1"},
     {"shuffled", "heap_order=64K", "seed=1:heap_order=64K"},
     {"shuffled", "heap_order=never", "seed=1:heap_order=never"},
     {"shuffled", "heap_order=never, heap_bag=4096", "seed=1:heap_order=never:heap_bag=4096"},
     {"power2", "N = 256", "seed=1:allocator=power2"},
     {"tlsf", "N = 256", "seed=1:allocator=tlsf"},
     {"system", "N = 256", "seed=1:allocator=system"},
     {"layer", "", "seed=1:allocator=layer"},
     {"bitmap", "", "seed=1:allocator=bitmap"},
     {"glibc", "without us", ""}}};

struct Bits {
  unsigned first;
  unsigned last;
};
constexpr std::array<Bits, 2> groups{{{6, 11}, {12, 17}}};

// For each group of bits, the tests that passed and the least entropy of a bit.
std::array<std::string, 2> cells(const HeapCase& heap) {
  const auto addresses = addresses_of(heap);
  std::array<std::string, 2> texts{"failed", "failed"};
  for (std::size_t g = 0; g < groups.size() && !addresses.empty(); ++g) {
    const auto score = stab::randomness::score(addresses, groups[g].first, groups[g].last);
    texts[g] = fmt::format("{} % {:.3f}", 100 * score.passed / score.tests, score.least_entropy);
  }
  return texts;
}

std::string header(const Bits& bits) {
  std::string text =
      fmt::format("\nBits {} to {}:\n\n| base | mode | pattern |", bits.first, bits.last);
  for (const std::size_t size : sizes) text += fmt::format(" {} B |", size);
  text += "\n|---|---|---|";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += "---|";
  return text + "\n";
}

}  // namespace

int main() {
  fmt::print("lrand48: {}\n", fmt::join(cells({"", "lrand48", 0}), ", "));
  std::array<std::string, 2> tables{header(groups[0]), header(groups[1])};
  for (const Row& row : rows)
    for (const char* pattern : patterns) {
      for (std::string& table : tables)
        table += fmt::format("| {} | {} | {} |", row.base, row.mode, pattern);
      for (const std::size_t size : sizes) {
        const auto texts = cells({row.options, pattern, size});
        for (std::size_t g = 0; g < groups.size(); ++g) tables[g] += fmt::format(" {} |", texts[g]);
      }
      for (std::string& table : tables) table += "\n";
    }
  fmt::print("{}{}", tables[0], tables[1]);
}
