// SPDX-License-Identifier: MIT
// addresses PATTERN SIZE COUNT: allocates COUNT blocks of SIZE bytes and writes their addresses as
// binary numbers. Patterns:
//   grow   nothing is freed            queue  the oldest of 1000 blocks is freed
//   pair   each block is freed at once churn  a random one of 1000 is freed
//   long   the oldest of 20000 is freed
// The program needs no other memory of the heap. "lrand48" writes random numbers instead.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

namespace {

constexpr std::size_t few = 1000;
constexpr std::size_t many = 20000;
void* live[many];

// Hides from the compiler what happens to the block.
void* allocate(std::size_t size) {
  void* block = std::malloc(size);
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

std::size_t victim(const char* pattern, std::size_t i) {
  if (std::strcmp(pattern, "long") == 0) return i % many;
  if (i < few || std::strcmp(pattern, "queue") == 0) return i % few;
  return static_cast<std::size_t>(lrand48()) % few;
}

std::uint64_t next(const char* pattern, std::size_t size, std::size_t i) {
  if (std::strcmp(pattern, "lrand48") == 0) return static_cast<std::uint64_t>(lrand48());
  if (std::strcmp(pattern, "grow") == 0) return reinterpret_cast<std::uint64_t>(allocate(size));
  if (std::strcmp(pattern, "pair") == 0) {
    void* block = allocate(size);
    std::free(block);
    return reinterpret_cast<std::uint64_t>(block);
  }
  void*& place = live[victim(pattern, i)];
  std::free(place);
  place = allocate(size);
  return reinterpret_cast<std::uint64_t>(place);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto size = static_cast<std::size_t>(std::atol(argv[2]));
  const auto count = static_cast<std::size_t>(std::atol(argv[3]));
  const std::size_t bytes = count * sizeof(std::uint64_t);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  const std::span addresses(static_cast<std::uint64_t*>(memory), count);
  srand48(5);
  for (std::size_t i = 0; i < count; ++i) addresses[i] = next(argv[1], size, i);
  return write(1, memory, bytes) == static_cast<ssize_t>(bytes) ? 0 : 1;
}
