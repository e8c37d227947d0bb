// SPDX-License-Identifier: MIT
// Ordinary work for the walker to interrupt, much of it in libc and libstdc++.
#pragma once

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stab::rt::testing {

inline volatile int sink;

inline void format() {
  char text[200];
  sink = std::snprintf(text, sizeof text, "%d %s %.3f %lx %*d", 42, "text", 3.14159, 0xffUL, 9, 7);
}
inline void use_strings() {
  std::string text = "a";
  for (int i = 0; i < 6; ++i) text += text + "some more text";
  sink = static_cast<int>(text.find("not there") + std::strlen(text.c_str()));
  char copy[800];
  std::memmove(copy, text.data(), std::min(sizeof copy, text.size()));
  sink = std::memcmp(copy, text.data(), 700);
  sink = std::atoi("123") + static_cast<int>(std::strtod("1.5e10", nullptr));
}
inline void allocate() {
  std::vector<void*> blocks;
  for (size_t size = 1; size < 300000; size = size * 9 + 7) {
    blocks.push_back(std::malloc(size));
    blocks.back() = std::realloc(blocks.back(), size * 2);
  }
  for (void* block : blocks) std::free(block);
}
inline int compare_ints(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
inline void sort() {
  std::vector<int> numbers;
  for (int i = 0; i < 16; ++i) numbers.push_back(i * 7919 % 101);
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_ints);
  std::map<std::string, int> map;
  for (const int n : numbers) ++map[std::to_string(n % 10)];
  sink = static_cast<int>(map.size());
}
__attribute__((noinline)) inline void throw_below(int n) {
  std::string local(static_cast<size_t>(n) * 10, 'x');
  if (n == 0) throw std::string("thrown");
  throw_below(n - 1);
}
inline void throw_and_catch() {
  try {
    throw_below(1);
  } catch (const std::string& text) {
    sink = static_cast<int>(text.size());
  }
}
__attribute__((noinline)) inline void over_align(int n) {
  alignas(128) volatile char bytes[200];
  auto* more = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(n)));
  bytes[n % 200] = 1;
  more[n - 1] = 1;
  if (n > 100) over_align(n / 2);
}
__attribute__((noinline, optnone)) inline int unoptimized(int n) {
  return n <= 1 ? n : unoptimized(n - 1) + unoptimized(n - 2);
}
inline void use_frames() {
  over_align(1000);
  sink = unoptimized(10);
}
inline void jump() {
  jmp_buf target;
  if (setjmp(target) == 0) longjmp(target, 1);
}
inline void send_signal() {
  struct sigaction action = {};
  action.sa_handler = [](int n) { sink = n; };
  sigaction(SIGUSR2, &action, nullptr);
  raise(SIGUSR2);
}
inline void look_up_symbols() {
  sink = dlsym(RTLD_DEFAULT, "strtoull") != nullptr;
  FILE* file = std::fopen("/dev/null", "w");
  std::fprintf(file, "%s", "text");
  std::fclose(file);
}

}  // namespace stab::rt::testing
