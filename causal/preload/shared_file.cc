// SPDX-License-Identifier: MIT
#include "causal/preload/shared_file.h"

#include "runtime/base/os.h"

namespace stab::causal {

SharedFile shared_file;

namespace {

template <class T>
bool place(uint8_t* start, uint64_t size, uint64_t offset, uint64_t count, T*& to) {
  if (offset % alignof(uint64_t) != 0 || offset < sizeof(Head) || offset > size ||
      count > (size - offset) / sizeof(T))
    return false;
  to = reinterpret_cast<T*>(start + offset);
  return true;
}

bool is_valid(const SharedFile& file) {
  for (uint32_t i = 0; i < file.object_count; ++i) {
    const Object& object = file.objects[i];
    if (uint64_t{object.first_range} + object.range_count > file.range_count) return false;
  }
  const Head& head = *file.head;
  return head.sample_ns >= 100000 && head.experiment_ns > 0 && head.fixed_speedup <= 1000 &&
         (head.fixed_line == no_line || head.fixed_line < file.line_count);
}

bool find_parts(uint8_t* start, uint64_t size, SharedFile& file) {
  auto* head = reinterpret_cast<Head*>(start);
  if (size < sizeof(Head) || head->magic != magic || head->size != size) return false;
  file.head = head;
  file.object_count = head->object_count;
  file.range_count = head->range_count;
  file.line_count = head->line_count;
  file.experiment_capacity = head->experiment_capacity;
  file.visit_capacity = head->visit_capacity;
  return place(start, size, head->objects, file.object_count, file.objects) &&
         place(start, size, head->ranges, file.range_count, file.ranges) &&
         place(start, size, head->line_counts, file.line_count, file.line_counts) &&
         place(start, size, head->counters, most_counters, file.counters) &&
         place(start, size, head->experiment_list, file.experiment_capacity, file.experiments) &&
         place(start, size, head->visit_list, file.visit_capacity, file.visits) && is_valid(file);
}

}  // namespace

void open_shared_file(const char* path) {
  uint64_t size = 0;
  const long memory = os::map_shared(path, size);
  if (os::failed(memory)) return;
  SharedFile file;
  if (find_parts(reinterpret_cast<uint8_t*>(memory), size, file)) {
    shared_file = file;
  } else {
    os::unmap(static_cast<uint64_t>(memory), size);
  }
}

}  // namespace stab::causal
