// SPDX-License-Identifier: MIT
// Many template instances and standard containers.
// variants: -O0 | -O2 | -O2 -g -flto | -Os
#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N>
struct Chain {
  [[gnu::noinline]] static long run(long x) { return Chain<N - 1>::run(x * 3 + N) ^ N; }
};
template <>
struct Chain<0> {
  static long run(long x) { return x; }
};
int main() {
  std::map<std::string, std::vector<int>> groups;
  std::unordered_map<int, std::string> names;
  for (int i = 0; i < 500; ++i) {
    std::ostringstream out;
    out << std::hex << (i * 7919) % 1009;
    groups[out.str().substr(0, 1)].push_back(i);
    names[i] = out.str();
  }
  std::regex pattern("^[0-9]+[a-f]$");
  long matches = 0;
  for (const auto& [key, name] : names) matches += std::regex_match(name, pattern) ? key : 0;
  std::variant<int, std::string> either = std::string("text");
  long total = Chain<200>::run(1);
  for (auto& [key, group] : groups) {
    std::sort(group.begin(), group.end(), [](int a, int b) { return a % 17 < b % 17 || (a % 17 == b % 17 && a < b); });
    total = total * 31 + group.front() + key[0];
  }
  std::printf("%ld %ld %zu\n", total, matches, std::visit([](const auto& v) { return sizeof v; }, either));
  return 0;
}
