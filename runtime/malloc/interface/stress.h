// SPDX-License-Identifier: MIT
// For tests: threads call an allocator in all the ways that programs do. A pattern in each block
// shows whether another thread wrote to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/malloc/allocators/allocator.h"

namespace stab::heap {

struct StressBlock {
  unsigned char* at = nullptr;
  std::size_t size = 0;
  unsigned char mark = 0;

  void fill() const { std::memset(at, mark, size); }
  [[nodiscard]] bool whole(std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (at[i] != mark) return false;
    return true;
  }
};

class Stress {
 public:
  Stress(const Allocator& allocator, std::uint64_t seed) : allocator_(allocator), seed_(seed) {}

  // Returns false if something was wrong, and writes the first fault to standard error.
  bool run(unsigned threads, unsigned steps) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) all.emplace_back([=, this] { work(t, steps); });
    for (auto& thread : all) thread.join();
    for (const StressBlock& block : shared_) release(block);
    shared_.clear();
    return faults_ == 0;
  }

 private:
  void fault(const char* what, const StressBlock& block) {
    if (faults_++ == 0)
      std::fprintf(stderr, "%s: %s, %zu bytes at %p\n", allocator_.name, what, block.size,
                   static_cast<void*>(block.at));
  }

  static std::size_t size(rt::Random& random) {
    switch (random.below(16)) {
      case 0:
        return random.below(300000);
      case 1:
        return random.below(40000);
      case 2:
      case 3:
        return random.below(4000);
      default:
        return random.below(300);
    }
  }

  StressBlock allocate(rt::Random& random) {
    StressBlock block;
    block.size = size(random);
    block.mark = static_cast<unsigned char>(random.next());
    std::size_t alignment = 16;
    switch (random.below(8)) {
      case 0:
        block.at = static_cast<unsigned char*>(allocator_.allocate_zeroed(block.size));
        if (StressBlock{block.at, block.size, 0}.whole(block.size)) break;
        fault("not zero", block);
        break;
      case 1:
        alignment = std::size_t{16} << random.below(10);
        block.at = static_cast<unsigned char*>(allocator_.allocate_aligned(alignment, block.size));
        break;
      default:
        block.at = static_cast<unsigned char*>(allocator_.allocate(block.size));
    }
    if (block.at == nullptr) std::abort();
    if (reinterpret_cast<std::uintptr_t>(block.at) % alignment != 0) fault("not aligned", block);
    if (allocator_.usable(block.at) < block.size) fault("too small", block);
    block.fill();
    return block;
  }

  void release(const StressBlock& block) {
    if (!block.whole(block.size)) fault("overwritten", block);
    allocator_.release(block.at);
  }

  void resize(StressBlock& block, rt::Random& random) {
    const std::size_t now = size(random) + 1;
    if (!block.whole(block.size)) fault("overwritten", block);
    block.at = static_cast<unsigned char*>(allocator_.resize(block.at, now));
    if (block.at == nullptr) std::abort();
    if (!block.whole(now < block.size ? now : block.size)) fault("lost in resize", block);
    block.size = now;
    block.fill();
  }

  // Swaps a block of this thread with one of another thread.
  void exchange(StressBlock& block, rt::Random& random) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (shared_.size() < 64) {
      shared_.push_back(block);
      block = {};
    } else {
      std::swap(block, shared_[random.below(shared_.size())]);
    }
  }

  void work(unsigned number, unsigned steps) {
    rt::Random random(seed_ + number * 1000003);
    std::vector<StressBlock> own(256);
    for (unsigned i = 0; i < steps; ++i) {
      StressBlock& block = own[random.below(own.size())];
      const std::uint64_t what = random.below(8);
      if (block.at == nullptr) {
        block = allocate(random);
      } else if (what == 0) {
        exchange(block, random);
      } else if (what == 1) {
        resize(block, random);
      } else {
        release(block);
        block = {};
      }
    }
    for (const StressBlock& block : own)
      if (block.at != nullptr) release(block);
  }

  const Allocator& allocator_;
  std::uint64_t seed_;
  std::atomic<int> faults_ = 0;
  std::mutex mutex_;
  std::vector<StressBlock> shared_;
};

}  // namespace stab::heap
