// SPDX-License-Identifier: MIT
// Two-level segregated fit (Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004) finds a block of any
// size in constant time, in lists that split each power of two into 16 parts. The caller locks it.
//
// The header of a block is the 16 bytes before it. The first 8 of them belong to the preceding
// block, and hold that block's size while it is free. So a block of n bytes takes n + 8 bytes, and
// n is a multiple of 16 plus 8.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::heap {

class Tlsf {
 public:
  // Returns a block of at least `size` bytes, aligned to 16, or nullptr if there is no memory.
  void* take(size_t size);
  // The same, aligned to a power of two.
  void* take(size_t size, size_t alignment);
  void give(void* block);
  static size_t usable(const void* block);

  // Free blocks are in the lists of their sizes, and no two of them are neighbours.
  bool is_valid() const;

 private:
  static constexpr unsigned rows = 26;
  static constexpr unsigned columns = 16;

  struct Block;
  struct Bin {
    unsigned row;
    unsigned column;
  };
  static Bin bin_of(size_t size);

  Block* find(size_t size);
  bool add_pool(size_t size);
  void insert(Block* block);
  void remove(Block* block);
  void cut(Block* block, size_t size);
  void free_and_merge(Block* block);

  uint32_t row_bits_ = 0;
  uint32_t column_bits_[rows] = {};
  Block* lists_[rows][columns] = {};
};

}  // namespace stab::heap
