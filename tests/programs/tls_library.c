// SPDX-License-Identifier: MIT
__thread int library_variable = 100;
static __thread int calls;
static __thread int spare = 7;
int library_bump(int by) {
  ++calls;
  spare -= by;
  return by + (calls & 1) + (spare & 1);
}
