// SPDX-License-Identifier: MIT
// Decides whether a table can be trusted, before anything else reads it. It never reads outside of
// [table, table + size) and never follows an offset that it has not checked. After `ok` the
// invariants of runtime/abi/abi.h hold, and every place that the table names lies in a segment of
// the image with the rights that it needs.
#pragma once

#include <stdint.h>

#include "runtime/abi/abi.h"
#include "runtime/base/check.h"

namespace stab::rt {

struct Segment {
  uint64_t start;  // from the base of the image
  uint64_t end;
  uint32_t flags;  // PF_R, PF_W, PF_X
};

struct Shape {
  static constexpr uint32_t most_segments = 32;
  Segment segments[most_segments];
  uint32_t count;
};

enum class TableError : uint8_t {
  ok,
  too_short,
  not_a_table,
  other_version,
  wrong_size,
  wrong_checksum,
  bad_array,
  bad_function,
  bad_fixup,
  bad_label,
  bad_slot,
  bad_range,
  bad_frame,
  bad_frame_size,
};

// `table` must be 8-aligned.
TableError validate(const uint8_t* table, uint64_t size, const Shape& shape);

const char* describe(TableError error);

// The elements of an array of a validated table.
template <class T>
inline const T* elements(const abi::Header& header, const abi::Array& array) {
  STAB_DEBUG(Table, 1,
             array.offset % alignof(T) == 0 && array.offset <= header.total_size &&
                 array.count <= (header.total_size - array.offset) / sizeof(T));
  return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(&header) + array.offset);
}

}  // namespace stab::rt
