// SPDX-License-Identifier: MIT
// The file of the option places=: where each function was at each moment, for who samples programs.
// The program's processes map it, and whoever made it reads it when they have ended. No pointers.
//
//   Head | Record, its items, its names | Record ... up to Head::used
//
// Invariants:
//   1. A record lies at a multiple of 8 bytes. Its kind is stored last: one without is not there.
//   2. A layout's time is before anything runs in it, and after everything ran that was there before.
//   3. From Head::ended_ns on records may be lacking; 0: none is.
#pragma once

#include <stdint.h>

namespace stab::places {

constexpr uint64_t magic = 0x3130656361707473;  // "stpace01"
constexpr uint64_t alignment = 8;

struct Head {
  uint64_t magic;
  uint64_t size;      // of the file
  uint64_t used;      // bytes, this head included
  uint64_t ended_ns;  // of the monotonic clock
};

enum Kind : uint32_t {
  nothing,
  image,   // its functions: `count` of Function, then `bytes` of names
  layout,  // `count` of Place, ascending
  gone,    // the image with all its layouts
};

struct Record {
  uint32_t kind;
  uint32_t size;  // with its items, a multiple of 8
  uint32_t process;
  uint32_t count;
  uint64_t time_ns;  // of the monotonic clock
  uint64_t base;     // which image: where it was loaded
  uint64_t start;    // of a layout's code
  uint64_t bytes;    // of this code, or of names
  uint32_t lead;     // bytes of code before each copy, which belong to it
  uint32_t unused;
};

struct Function {
  uint32_t size;  // of its copies
  uint32_t name;  // where it begins among the names
};

struct Place {
  uint32_t function;
  uint32_t offset;  // of its copy, from `start`
};

static_assert(sizeof(Head) == 32 && sizeof(Record) == 56);
static_assert(sizeof(Function) == 8 && sizeof(Place) == 8);

}  // namespace stab::places
