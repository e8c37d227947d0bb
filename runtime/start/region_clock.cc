// SPDX-License-Identifier: MIT
#include "runtime/start/region_clock.h"

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

uint64_t load(const uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

// Returns 0 if this is not a region's name. It reads no more than is needed to decide.
size_t length_of_name(const char* name) {
  if (name == nullptr) return 0;
  size_t length = 0;
  while (name[length] != '\0')
    if (length == max_region_name || !is_in_name(name[length++])) return 0;
  return length;
}

// FNV-1a, but never 0.
uint64_t key_of(const char* name, size_t length) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < length; ++i)
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3u;
  return hash == 0 ? 1 : hash;
}

// Nobody waits for the thread that writes the name, because the key says which region it is.
bool claim(NamedRegion& region, uint64_t key, const char* name, size_t length) {
  uint64_t free = 0;
  if (!__atomic_compare_exchange_n(&region.key, &free, key, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return false;
  copy_bytes(region.name, name, length);
  __atomic_store_n(&region.is_named, 1, __ATOMIC_RELEASE);
  return true;
}

// Returns nullptr if the name is invalid, or has no region. With `makes`, it makes one if there is
// room. If two names have the same hash, the second has no region.
NamedRegion* find(NamedRegion* regions, const char* name, bool makes) {
  const size_t length = length_of_name(name);
  if (length == 0) return nullptr;
  const uint64_t key = key_of(name, length);
  for (size_t i = 0; i < max_regions; ++i) {
    NamedRegion& region = regions[i];
    if (load(region.key) == 0) {
      if (!makes) return nullptr;
      if (claim(region, key, name, length)) return &region;
    }
    if (load(region.key) != key) continue;
    return load(region.is_named) == 0 || spells(region.name, name, length) ? &region : nullptr;
  }
  return nullptr;
}

}  // namespace

void RegionClock::begin() {
  if (__atomic_fetch_add(&depth_, 1, __ATOMIC_ACQ_REL) != 0) return;
  __atomic_fetch_add(&count_, 1, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&sum_, os::monotonic_ns(), __ATOMIC_ACQ_REL);
}

void RegionClock::end() {
  uint64_t before = load(depth_);
  do
    if (before == 0) return;
  while (!__atomic_compare_exchange_n(&depth_, &before, before - 1, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE));
  // Only now is it known which beginning this ends. A time read earlier might be before that
  // beginning.
  if (before == 1) __atomic_fetch_add(&sum_, os::monotonic_ns(), __ATOMIC_ACQ_REL);
}

uint64_t RegionClock::count() const {
  return load(count_);
}

bool RegionClock::is_open() const {
  return load(depth_) != 0;
}

// A thread may be between its changes of the depth and of the sum. So the sum of a closed region
// may still lack its end, and then it is about minus the time on the clock. If a stray end came in
// the middle of a beginning, the sum is slightly negative.
uint64_t RegionClock::time() const {
  const auto sum = static_cast<int64_t>(load(sum_));
  const auto now = static_cast<int64_t>(os::monotonic_ns());
  if (sum >= 0) return static_cast<uint64_t>(sum);
  if (!is_open() && -sum < now / 2) return 0;
  return sum + now > 0 ? static_cast<uint64_t>(sum + now) : 0;
}

void NamedRegions::begin(const char* name) {
  NamedRegion* region = find(regions_, name, true);
  if (region != nullptr)
    region->clock.begin();
  else
    __atomic_fetch_add(&refused_, 1, __ATOMIC_RELAXED);
}

void NamedRegions::end(const char* name) {
  NamedRegion* region = find(regions_, name, false);
  if (region != nullptr) region->clock.end();
}

const NamedRegion* NamedRegions::at(size_t index) const {
  if (index >= max_regions || load(regions_[index].is_named) == 0) return nullptr;
  return regions_[index].clock.count() == 0 ? nullptr : &regions_[index];
}

uint64_t NamedRegions::refused() const {
  uint64_t refused = load(refused_);
  for (const NamedRegion& region : regions_)
    if (load(region.is_named) == 0) refused += region.clock.count();
  return refused;
}

}  // namespace stab::rt
