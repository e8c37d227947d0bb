// SPDX-License-Identifier: MIT
#include <string>
void plain_throw(int n) { throw n; }
int plain_call(int (*f)(int), int x) {
  std::string s(100, 'x');
  return f(x) + static_cast<int>(s.size());
}
