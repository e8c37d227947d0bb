// SPDX-License-Identifier: MIT
#include "runtime/shadow_stack.h"

#include "runtime/os.h"

namespace stab::rt {
namespace {

bool unknown_to_kernel;

}  // namespace

bool has_shadow_stack() {
  if (__atomic_load_n(&unknown_to_kernel, __ATOMIC_RELAXED)) return false;
  uint64_t features = 0;
  const long result = os::shadow_stack_status(features);
  if (os::failed(result)) __atomic_store_n(&unknown_to_kernel, true, __ATOMIC_RELAXED);
  return means_shadow_stack(result, features);
}

}  // namespace stab::rt
