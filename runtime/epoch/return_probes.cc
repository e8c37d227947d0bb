// SPDX-License-Identifier: MIT
#include "runtime/epoch/return_probes.h"

#include "runtime/base/os.h"

namespace stab::rt {

bool ReturnProbes::may_hide(uint64_t word) {
  constexpr uint64_t user_end = uint64_t{1} << 56;
  if (word % os::page_size != 0 || word == 0 || word >= user_end) return false;
  uint64_t& known = harmless_[word / os::page_size % remembered];
  if (known == word) return false;
  if (++questions_ > most_questions) return true;
  uint8_t byte = 0;
  const os::Piece there = {reinterpret_cast<void*>(word), sizeof byte};
  if (!os::copy_own_memory(&byte, sizeof byte, &there, 1) && os::readable(word)) return true;
  known = word;
  return false;
}

}  // namespace stab::rt
