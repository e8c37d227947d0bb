// SPDX-License-Identifier: MIT
// Threads pass blocks of many sizes to each other, and free blocks that other threads allocated.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  const unsigned count = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 4;
  const unsigned steps = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 3000000;
  std::vector<std::atomic<unsigned char*>> shared(1024);
  std::atomic<unsigned long> bytes = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      unsigned seed = t + 1;
      unsigned long own = 0;
      for (unsigned i = 0; i < steps / count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const unsigned size = 16 + (seed >> 12) % 500;
        auto* block = static_cast<unsigned char*>(std::malloc(size));
        block[0] = block[size - 1] = 1;
        own += size;
        std::free(shared[seed >> 22].exchange(block));
      }
      bytes += own;
    });
  for (auto& thread : threads) thread.join();
  std::printf("%lu\n", bytes.load());
}
