// SPDX-License-Identifier: MIT
// A return probe (perf's or bpftrace's uretprobe) replaces a return address on the stack by that of
// a page of the kernel's, [uprobes] in /proc/self/maps, and keeps it where no program can read it.
// The processor reads that page, and the kernel for us, but nobody by process_vm_readv: so it is
// told from others whatever code it holds.
#pragma once

#include <stdint.h>

namespace stab::rt {

// One for the words of one stack. For the handler.
class ReturnProbes {
 public:
  // Whether a return address may be hidden behind this word. Yes where that cannot be found out.
  bool may_hide(uint64_t word);

 private:
  static constexpr uint32_t most_questions = 1000;
  static constexpr uint32_t remembered = 16;
  uint64_t harmless_[remembered] = {};
  uint32_t questions_ = 0;
};

}  // namespace stab::rt
