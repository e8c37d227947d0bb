// SPDX-License-Identifier: MIT
// Blocks that one part of the family takes and another gives back, as programs and libraries do: all forms of operator new,
// two of them the program's own, libc's own blocks, and names that not every allocator has.
// variants: -O0 | -O2 -DOWN_NEW
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <string>
#include <thread>
#include <vector>

#ifdef OWN_NEW  // sized delete is left to the library
void* operator new(std::size_t size) {
  if (void* block = malloc(size)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { free(block); }
#endif

namespace {

int failures;
void check(const void* block) { failures += block == nullptr; }

struct Small {
  char bytes[40];
};
struct alignas(256) Wide {
  char bytes[300];
  ~Wide() { failures += bytes[299] != 1; }
};

template <class T>
void all_forms() {
  T* one = new T;
  T* many = new T[30];
  T* perhaps = new (std::nothrow) T[3];
  memset(one->bytes, 1, sizeof one->bytes);
  for (int i = 0; i < 30; ++i) memset(many[i].bytes, 1, sizeof many[i].bytes);
  for (int i = 0; i < 3; ++i) memset(perhaps[i].bytes, 1, sizeof perhaps[i].bytes);
  for (T* each : {one, many, perhaps}) {
    check(each);
    failures += reinterpret_cast<unsigned long>(each) % alignof(T) != 0;
  }
  delete one;
  delete[] many;
  delete[] perhaps;
}

void names_that_some_lack() {
  auto* numbers = static_cast<int*>(malloc(100));
  numbers = static_cast<int*>(reallocarray(numbers, 1000, sizeof(int)));
  check(numbers);
  failures += malloc_usable_size(numbers) < 1000 * sizeof(int);
  free(numbers);
  void* block = nullptr;
  failures += posix_memalign(&block, 64, 100);
  block = realloc(block, 5000);
  check(block);
  free(block);
  for (void* pages : {valloc(10), pvalloc(10), aligned_alloc(128, 256), memalign(64, 10)}) {
    check(pages);
    free(pages);
  }
}

void from_libc() {
  char* line = nullptr;
  size_t size = 0;
  FILE* file = tmpfile();
  fputs("a line that is long enough for a buffer to be made\n", file);
  rewind(file);
  failures += getline(&line, &size, file) < 10;
  fclose(file);
  char* copy = strdup(line);
  free(line);
  char* printed = nullptr;
  failures += asprintf(&printed, "%s!", copy) < 10;
  free(copy);
  free(printed);
}

void everything() {
  all_forms<Small>();
  all_forms<Wide>();
  names_that_some_lack();
  from_libc();
  std::vector<std::string> words;
  for (int i = 0; i < 2000; ++i) words.push_back(std::string(static_cast<unsigned>(i % 200), 'x'));
}

}  // namespace

int main() {
  everything();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(everything);
  for (auto& thread : threads) thread.join();
  printf("%d failures\n", failures);
  return failures != 0;
}
