// SPDX-License-Identifier: MIT
// Ordered and hashed maps of the standard library grow, are searched, and lose half of their nodes.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  const unsigned size = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 120000;
  unsigned long sum = 0;
  unsigned seed = 1;
  const auto draw = [&] { return (seed = seed * 1664525u + 1013904223u) >> 6; };
  for (int round = 0; round < rounds; ++round) {
    std::map<unsigned, unsigned> ordered;
    std::unordered_map<unsigned, std::string> hashed;
    for (unsigned i = 0; i < size; ++i) {
      const unsigned key = draw();
      ordered[key] = i;
      hashed[key] = std::to_string(key) + " is a text on the heap";
    }
    for (unsigned i = 0; i < size; ++i) {
      const auto found = ordered.lower_bound(draw());
      if (found != ordered.end()) sum += found->second + hashed[found->first].size();
    }
    for (auto at = ordered.begin(); at != ordered.end();)
      if (at->second % 2 == 0) {
        hashed.erase(at->first);
        at = ordered.erase(at);
      } else {
        ++at;
      }
    for (const auto& [key, text] : hashed) sum += key % 7 + text.size();
  }
  std::printf("%lu\n", sum);
}
