// SPDX-License-Identifier: MIT
// Some functions that are moved when it is loaded.
#define FEW(n) static __attribute__((noinline, used)) int a##n(int x) { return x * n + 1; } int b##n(int x) { return a##n(x) - n; }
#define MORE(n) FEW(n##0) FEW(n##1) FEW(n##2) FEW(n##3) FEW(n##4) FEW(n##5) FEW(n##6) FEW(n##7) FEW(n##8) FEW(n##9)
MORE(1) MORE(2) MORE(3) MORE(4) MORE(5) MORE(6) MORE(7) MORE(8) MORE(9)
