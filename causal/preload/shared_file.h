// SPDX-License-Identifier: MIT
// The session's file as this process has it mapped. A program may write over it by mistake: where
// its parts are is remembered as it was when it was checked.
#pragma once

#include "causal/session/session.h"

namespace stab::causal {

struct SharedFile {
  Head* head = nullptr;  // null: there is none, or it is not valid
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

// Constant from open_shared_file() on.
extern SharedFile shared_file;

// Maps the file of this path if it is valid; otherwise nothing is mapped.
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
