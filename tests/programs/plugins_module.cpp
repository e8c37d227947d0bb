// SPDX-License-Identifier: MIT
#include <map>
#include <stdexcept>
#include <string>

extern "C" void plugin_event(int what);
namespace {
struct Life {
  Life() { plugin_event(1); }
  ~Life() { plugin_event(2); }
} life;
std::map<std::string, int> counts;
[[gnu::noinline]] int choose(int n) {
  switch (n % 7) {
    case 0: return 3;
    case 1: throw std::runtime_error("one");
    case 2: return n * n;
    case 3: counts["three"]++; return 9;
    case 4: return counts["three"];
    case 5: plugin_event(5); return 1;
    default: return -n;
  }
}
}  // namespace
extern "C" int plugin_run(int n) {
  int sum = 0;
  for (int i = 0; i < 30; ++i) {
    try {
      sum = sum * 5 + choose(n + i);
    } catch (const std::exception& e) {
      sum += e.what()[0];
    }
    sum &= 0xfffff;
  }
  return sum;
}
