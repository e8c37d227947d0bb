// SPDX-License-Identifier: MIT
#include <string>
void moved_throw(int n) {
  if (n % 2 == 0) throw n + 1;
  throw n;
}
int moved_call(int (*f)(int), int x) {
  std::string s(10, 'x');
  try {
    return f(x) + static_cast<int>(s.size());
  } catch (int) {
    return 0;
  }
}
