// SPDX-License-Identifier: MIT
#include <stabilizer.h>

#include <cstdio>

extern "C" int square(int x);

int main() {
  STAB_BEGIN_REGION("squares");
  const int sum = square(3) + square(4);
  STAB_END_REGION("squares");
  std::printf("%d\n", sum);
  return 0;
}
