// SPDX-License-Identifier: MIT
#include "runtime/base/place_file.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

places::Head* file;

void end_file(uint64_t time_ns) {
  uint64_t none = 0;
  __atomic_compare_exchange_n(&file->ended_ns, &none, time_ns, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
}

}  // namespace

void open_places(const Options& options) {
  constexpr size_t path_limit = 4096;
  static char path[path_limit];
  if (options.places.size == 0 || options.places.size >= path_limit) return;
  copy_bytes(path, options.places.start, options.places.size);
  uint64_t size = 0;
  const long memory = os::map_shared(path, size);
  if (os::failed(memory)) return;
  auto* head = reinterpret_cast<places::Head*>(memory);
  if (size >= sizeof *head && head->magic == places::magic && head->size == size)
    file = head;
  else
    os::unmap(static_cast<uint64_t>(memory), size);
}

bool places_wanted() {
  return file != nullptr;
}

// Other processes, children of fork, write into the same file.
places::Record* take_record(uint64_t item_bytes, uint64_t time_ns) {
  const uint64_t size = align_up(sizeof(places::Record) + item_bytes, places::alignment);
  uint64_t at = __atomic_load_n(&file->used, __ATOMIC_RELAXED);
  do {
    const bool fits = at % places::alignment == 0 && at >= sizeof *file && at <= file->size &&
                      size <= file->size - at && size <= UINT32_MAX;
    if (__atomic_load_n(&file->ended_ns, __ATOMIC_ACQUIRE) != 0 || !fits) {
      end_file(time_ns);
      return nullptr;
    }
  } while (!__atomic_compare_exchange_n(&file->used, &at, at + size, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
  auto* record = reinterpret_cast<places::Record*>(reinterpret_cast<uint8_t*>(file) + at);
  STAB_DEBUG(Places, 1,
             address_of(record) % places::alignment == 0 && record->kind == places::nothing);
  __atomic_store_n(&record->size, static_cast<uint32_t>(size), __ATOMIC_RELEASE);
  record->process = static_cast<uint32_t>(os::process_id());
  record->time_ns = time_ns;
  return record;
}

void give_kind(places::Record* record, places::Kind kind) {
  __atomic_store_n(&record->kind, static_cast<uint32_t>(kind), __ATOMIC_RELEASE);
}

}  // namespace stab::rt
