// SPDX-License-Identifier: MIT
#include "runtime/malloc/interface/open.h"

#include "runtime/base/check.h"
#include "runtime/malloc/allocators/bitmap.h"
#include "runtime/malloc/allocators/layer.h"
#include "runtime/malloc/allocators/shuffled.h"
#include "runtime/malloc/allocators/stretched.h"
#include "runtime/malloc/allocators/swapped.h"
#include "runtime/malloc/interface/fork.h"

namespace stab::heap {
namespace {

constexpr uint64_t least_bag = 8;
constexpr uint64_t largest_bag = 4096;

uint64_t bag_size(const rt::Options& options) {
  const uint64_t n = options.heap_bag;
  return n < least_bag ? least_bag : n > largest_bag ? largest_bag : n;
}

ShuffledSettings shuffled_settings(const rt::Options& options, uint64_t seed) {
  return {.seed = seed, .bag_size = bag_size(options), .order_from = options.heap_order};
}

}  // namespace

const Allocator& open_allocator(const rt::Options& options, uint64_t seed) {
  static bool is_open;
  STAB_ALWAYS(Choice, 2, !is_open);
  is_open = true;
  switch (options.allocator) {
#define STAB_CASE(name, allocator, ...) \
  case rt::Base::name:                  \
    __VA_ARGS__;                        \
    survive_forks(seed);                \
    return allocator;
    STAB_EACH_ALLOCATOR(STAB_CASE)
#undef STAB_CASE
  }
  __builtin_unreachable();
}

}  // namespace stab::heap
