// SPDX-License-Identifier: MIT
// The file of the option places=: where each function was at each moment, for tools that sample
// programs. The program's processes map it, and the tool that made it reads it after they have
// ended. It holds no pointers.
//
//   Head | Record, its items, its names | Record ... up to Head::used
//
// Invariants:
//   1. A record lies at a multiple of 8 bytes. Its kind is stored last: a record without a kind
//      does not count.
//   2. A layout's time is before any code runs in it, and after all code of the layout that was
//      there before has run.
//   3. Records may be missing from Head::ended_ns on; 0: none is missing.
#pragma once

#include <stdint.h>

namespace stab::places {

constexpr uint64_t magic = 0x3130656361707473;  // "stpace01"
constexpr uint64_t alignment = 8;

struct Head {
  uint64_t magic;
  uint64_t size;      // of the file
  uint64_t used;      // in bytes, including this head
  uint64_t ended_ns;  // on the monotonic clock
};

enum Kind : uint32_t {
  nothing,
  image,   // the image's functions: `count` of Function, then `bytes` of names
  layout,  // `count` of Place, ascending
  gone,    // the image and all its layouts are gone
};

struct Record {
  uint32_t kind;
  uint32_t size;  // including its items, a multiple of 8
  uint32_t process;
  uint32_t count;
  uint64_t time_ns;  // on the monotonic clock
  uint64_t base;     // identifies the image: the address where it was loaded
  uint64_t start;    // of a layout's code
  uint64_t bytes;    // size of this code, or of the names
  uint32_t lead;     // bytes of code before each copy, which belong to it
  uint32_t unused;
};

struct Function {
  uint32_t size;  // of its copies
  uint32_t name;  // offset among the names
};

struct Place {
  uint32_t function;
  uint32_t offset;  // of its copy, from `start`
};

static_assert(sizeof(Head) == 32 && sizeof(Record) == 56);
static_assert(sizeof(Function) == 8 && sizeof(Place) == 8);

}  // namespace stab::places
