// SPDX-License-Identifier: MIT
// The session's file as this process has mapped it. A program may overwrite it by mistake, so this
// keeps the places of its parts as they were when they were checked.
#pragma once

#include "causal/session.h"

namespace stab::causal {

struct SharedFile {
  Head* head = nullptr;  // null: there is no file, or it is not valid
  const Object* objects = nullptr;
  const Range* ranges = nullptr;
  LineCount* line_counts = nullptr;
  Counter* counters = nullptr;
  Experiment* experiments = nullptr;
  Visits* visits = nullptr;
  uint32_t object_count = 0;
  uint32_t range_count = 0;
  uint32_t line_count = 0;
  uint32_t experiment_capacity = 0;
  uint32_t visit_capacity = 0;
};

// Constant after open_shared_file().
extern SharedFile shared_file;

// Maps the file with this path if it is valid. Otherwise nothing is mapped.
void open_shared_file(const char* path);

template <class T>
T load(const T& from) {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}
template <class T>
T add(T& to, T number) {
  return __atomic_add_fetch(&to, number, __ATOMIC_RELAXED);
}

}  // namespace stab::causal
