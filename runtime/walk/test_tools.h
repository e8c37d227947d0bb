// SPDX-License-Identifier: MIT
// Walks by the runtime's walker and by libgcc's, to be compared. Both run in signal handlers, so
// nothing here allocates.
#pragma once

#include <dlfcn.h>
#include <ucontext.h>
#include <unwind.h>

#include <cstdint>

#include "runtime/walk/description.h"
#include "runtime/walk/walk.h"

namespace stab::rt::testing {

inline bool find_by_loader(uint64_t pc, FrameDescription& description, void*) {
  dl_find_object found = {};
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return false;
  const Extent extent = {reinterpret_cast<uint64_t>(found.dlfo_map_start),
                         reinterpret_cast<uint64_t>(found.dlfo_map_end)};
  return find_in_image_header(pc, static_cast<const uint8_t*>(found.dlfo_eh_frame), extent,
                              description);
}

// AddressSanitizer's functions keep frame pointers, and a call of its malloc takes thousands of
// instructions. ThreadSanitizer delays signals until their context is stale.
#if __has_feature(address_sanitizer)
constexpr bool has_address_sanitizer = true;
#else
constexpr bool has_address_sanitizer = false;
#endif
#if __has_feature(thread_sanitizer)
constexpr bool has_thread_sanitizer = true;
#else
constexpr bool has_thread_sanitizer = false;
#endif

// rbx rbp r12 to r15
constexpr uint32_t preserved_registers[] = {3, 6, 12, 13, 14, 15};

struct Frame {
  uint64_t pc = 0;
  uint64_t stack_pointer = 0;
  uint64_t registers[register_count] = {};
  uint32_t known = 0;
};

struct Trace {
  static constexpr uint32_t most = 400;
  Frame frames[most];
  uint32_t count = 0;
  Step end = Step::lost;
  bool slots_hold = true;

  void add(const Frame& frame) {
    if (count < most) frames[count++] = frame;
  }
};

// Whether the value of each register is in the place that the walker names.
inline bool slots_hold(const Walk& walk) {
  if (walk.pc_slot != nullptr && *walk.pc_slot != walk.pc) return false;
  for (uint32_t i = 0; i < register_count; ++i)
    if (walk.saved[i] != nullptr && walk.registers.is_known(i) &&
        *walk.saved[i] != walk.registers.value[i])
      return false;
  return true;
}

inline void finish(Walk& walk, Trace& trace) {
  trace.count = 0;
  trace.slots_hold = true;
  trace.end = Step::caller;
  while (trace.end == Step::caller && trace.count < Trace::most) {
    Frame frame = {walk.pc, walk.registers.value[rsp], {}, walk.registers.known};
    for (const uint32_t i : preserved_registers) frame.registers[i] = walk.registers.value[i];
    trace.add(frame);
    trace.slots_hold = trace.slots_hold && slots_hold(walk);
    trace.end = step(walk, find_by_loader, nullptr);
  }
}

inline void walk_from(ucontext_t& context, Trace& trace) {
  Walk walk;
  begin_walk(walk, context);
  finish(walk, trace);
}

struct Gathering {
  Trace* trace;
  uint64_t start;
  bool started = false;
};

inline _Unwind_Reason_Code gather(_Unwind_Context* context, void* argument) {
  auto& gathering = *static_cast<Gathering*>(argument);
  int before = 0;
  const uint64_t pc = _Unwind_GetIPInfo(context, &before);
  if (!gathering.started && (before == 0 || pc != gathering.start)) return _URC_NO_REASON;
  gathering.started = true;
  if (pc == 0) return _URC_NO_REASON;
  Frame frame = {pc, _Unwind_GetCFA(context), {}, 0};
  for (const uint32_t i : preserved_registers)
    frame.registers[i] = _Unwind_GetGR(context, static_cast<int>(i));
  gathering.trace->add(frame);
  return _URC_NO_REASON;
}

// Traces from the caller of the signal handler, which is the code that was interrupted at `pc`.
inline void trace_by_libgcc(uint64_t pc, Trace& trace) {
  trace.count = 0;
  Gathering gathering = {&trace, pc};
  _Unwind_Backtrace(gather, &gathering);
}

inline bool same_registers(const Frame& ours, const Frame& theirs) {
  for (const uint32_t i : preserved_registers)
    if ((ours.known >> i & 1) != 0 && ours.registers[i] != theirs.registers[i]) return false;
  return true;
}

// The index of the first frame that differs, or the number of frames if all are equal.
inline uint32_t first_difference(const Trace& ours, const Trace& theirs) {
  uint32_t i = 0;
  while (i < ours.count && i < theirs.count && ours.frames[i].pc == theirs.frames[i].pc &&
         ours.frames[i].stack_pointer == theirs.frames[i].stack_pointer &&
         same_registers(ours.frames[i], theirs.frames[i]))
    ++i;
  return i;
}

inline bool same(const Trace& ours, const Trace& theirs) {
  return ours.count == theirs.count && first_difference(ours, theirs) == ours.count;
}

}  // namespace stab::rt::testing
