// SPDX-License-Identifier: MIT
// A process with busy threads that executes itself: nothing of the old program's signals is left to the new one.
// link: -pthread
// variants: -O0 | -O2
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

__attribute__((noinline)) static int burn_a_little(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}
int main(int count, char **words) {
  const int rest = count > 1 ? std::atoi(words[1]) : 60;
  if (rest == 0) {
    std::puts("executed to the end");
    return 0;
  }
  for (int i = 0; i < 2; ++i)
    std::thread([] {
      for (int x = 0;;) x = burn_a_little(x);
    }).detach();
  for (volatile int k = 0; k < 500000; k = k + 1) continue;
  const std::string next = std::to_string(rest - 1);
  execl("/proc/self/exe", "program", next.c_str(), static_cast<char *>(nullptr));
  return 1;
}
