// SPDX-License-Identifier: MIT
#include "causal/preload/sampler.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <ucontext.h>

#include "causal/preload/experiments.h"
#include "causal/preload/kernel.h"
#include "causal/preload/points.h"
#include "causal/preload/shared_file.h"
#include "causal/preload/thread.h"
#include "runtime/arch/signals.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/walk/description.h"
#include "runtime/walk/walk.h"

// The runtime defines this in a program that szc built, whose functions move.
extern "C" __attribute__((weak)) const void* stab_original_address_1(const void* pc);

namespace stab::causal {
namespace {

// The line of a sample.

constexpr uint32_t no_object = UINT32_MAX;
constexpr uint32_t most_frames = 200;
// Handlers may run on small stacks.
constexpr uint32_t longest_path = 1024;

KnownObjects known;

bool has_slash(const char* name) {
  while (*name != '\0' && *name != '/') ++name;
  return *name == '/';
}

// A library's name is the one by which it was opened, and the current directory may have changed
// since. The loader gives each file's name a slash; the kernel's own library has none. (/proc
// shows nothing of the process itself once its first thread has ended, so this reads thread-self.)
bool identify(const link_map& map, uint64_t start, uint64_t& device, uint64_t& inode) {
  if (map.l_name == nullptr || *map.l_name == '\0')
    return kernel::identify("/proc/thread-self/exe", device, inode);
  if (*map.l_name == '/') return kernel::identify(map.l_name, device, inode);
  if (!has_slash(map.l_name)) return false;
  char path[longest_path];
  return kernel::name_of_mapping(start, path, sizeof path) && kernel::identify(path, device, inode);
}

uint32_t object_of_file(const link_map& map, uint64_t start) {
  uint64_t device = 0;
  uint64_t inode = 0;
  if (!identify(map, start, device, inode)) return no_object;
  for (uint32_t i = 0; i < shared_file.object_count; ++i)
    if (shared_file.objects[i].device == device && shared_file.objects[i].inode == inode) return i;
  return no_object;
}

uint32_t object_of(const dl_find_object& found) {
  const link_map* map = found.dlfo_link_map;
  if (map == nullptr) return no_object;
  const KnownObjects::File file = {.record = rt::address_of(map),
                                   .start = rt::address_of(found.dlfo_map_start)};
  const uint64_t generation = known.now();
  uint32_t object = no_object;
  if (known.find(generation, file, object)) return object;
  object = object_of_file(*map, file.start);
  known.add(generation, file, object);
  return object;
}

uint32_t line_in(const Object& object, uint64_t address) {
  uint64_t low = object.first_range;
  uint64_t high = low + object.range_count;
  if (high > shared_file.range_count) return no_line;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (shared_file.ranges[middle].start <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == object.first_range) return no_line;
  const Range& range = shared_file.ranges[low - 1];
  return address - range.start < range.size && range.line < shared_file.line_count ? range.line
                                                                                   : no_line;
}

bool find_description(uint64_t pc, rt::FrameDescription& description, void*) {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return false;
  const rt::Extent extent = {rt::address_of(found.dlfo_map_start),
                             rt::address_of(found.dlfo_map_end)};
  return rt::find_in_image_header(pc, static_cast<const uint8_t*>(found.dlfo_eh_frame), extent,
                                  description);
}

}  // namespace

uint32_t line_of(uint64_t pc) {
  if (stab_original_address_1 != nullptr)
    pc = rt::address_of(stab_original_address_1(reinterpret_cast<void*>(pc)));
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return no_line;
  const uint32_t object = object_of(found);
  return object == no_object
             ? no_line
             : line_in(shared_file.objects[object], pc - found.dlfo_link_map->l_addr);
}

uint32_t innermost_line(ucontext_t& interrupted, bool& is_whole) {
  is_whole = true;
  uint32_t line = line_of(static_cast<uint64_t>(interrupted.uc_mcontext.gregs[REG_RIP]));
  if (line != no_line) return line;
  rt::Walk walk;
  rt::begin_walk(walk, interrupted);
  rt::Step step = rt::Step::caller;
  for (uint32_t i = 0; i < most_frames && line == no_line && step == rt::Step::caller; ++i) {
    step = rt::step(walk, find_description, nullptr);
    if (step == rt::Step::caller) line = line_of(walk.interrupted ? walk.pc : walk.pc - 1);
  }
  is_whole = line != no_line || step == rt::Step::bottom;
  return line;
}

void forget_objects() {
  known.forget();
}

namespace {

// The clock and the signal.

// Returns the CPU time that this sample stands for: the time since the last one.
uint64_t take_interval() {
  const uint64_t now = os::clock_ns(os::thread_cpu_clock);
  const uint64_t asked = shared_file.head->sample_ns;
  uint64_t interval = now - self.sampled_at;
  self.sampled_at = now;
  // The clock also went off in the kernel, without a signal, so this time belongs to several
  // periods.
  if (self.sampler == perf_event_user)
    interval /= interval < asked ? 1 : (interval + asked / 2) / asked;
  // If signals were kept away for long, the pause must not become as long.
  constexpr uint64_t ticks = 32000000;
  return interval < 8 * asked + ticks ? interval : 8 * asked + ticks;
}

void count_sample(ucontext_t& interrupted) {
  Head& head = *shared_file.head;
  const uint64_t interval = take_interval();
  add(head.samples, uint64_t{1});
  add(head.sampled_ns, interval);
  bool is_whole = true;
  const uint32_t line = innermost_line(interrupted, is_whole);
  if (!is_whole) add(head.unwound_short, 1u);
  if (line == no_line) {
    add(head.samples_outside, uint64_t{1});
    return;
  }
  add(shared_file.line_counts[line].samples, uint64_t{1});
  visit_sampled_points(line);
  run_ahead(speed_up(line, interval));
}

// If the queue of signals is full, the kernel says nothing about a signal's origin.
bool is_of_a_clock(const siginfo_t& info) {
  return info.si_code > 0 || info.si_code == SI_TIMER ||
         (info.si_code == SI_USER && info.si_pid == 0);
}

void on_signal(int, void* info, void* context) {
  if (load(has_left)) return;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (is_counted() && is_of_a_clock(*static_cast<siginfo_t*>(info))) {
    count_sample(interrupted);
    // A frame of the program may be above ours, on another stack.
    if (!is_waiting(static_cast<uint64_t>(interrupted.uc_mcontext.gregs[REG_RSP]))) settle(true);
  }
  // If a sample takes longer than the time between two samples, the program would never go on. The
  // next sample stands for the dropped ones, too.
  kernel::drop_pending(sample_signal);
  rt::restart_system_call(interrupted, sample_signal);
}

bool may_use(uint32_t sampler) {
  const uint32_t only = shared_file.head->only_sampler;
  return only == no_sampler || only == sampler;
}

bool start_clock(uint32_t sampler) {
  if (!may_use(sampler)) return false;
  self.clock =
      kernel::start_clock(shared_file.head->sample_ns, sample_signal, sampler == perf_event_user);
  if (self.clock == nullptr) return false;
  self.sampler = sampler;
  return true;
}

bool start_timer() {
  if (!may_use(cpu_timer)) return false;
  const long timer = os::make_thread_timer(self.id, sample_signal, nullptr);
  if (os::failed(timer)) return false;
  self.timer = static_cast<int>(timer);
  const uint64_t period = shared_file.head->sample_ns;
  os::set_timer(self.timer, self.sampled_at + period, period);
  self.sampler = cpu_timer;
  return true;
}

uint64_t bit_of(int signal) {
  return uint64_t{1} << (signal - 1);
}

void set_action(uint64_t also) {
  const os::SignalAction action = {on_signal,
                                   os::flag_siginfo | os::flag_restart | os::flag_restorer | also,
                                   rt::return_from_signal, ~uint64_t{0}};
  os::signal_action(sample_signal, &action, nullptr);
}

}  // namespace

void prepare_sampling() {
  set_action(os::flag_onstack);
}

void leave_alternate_stacks() {
  set_action(0);
}

void start_sampling() {
  self.sampled_at = os::clock_ns(os::thread_cpu_clock);
  const uint64_t mask = os::exchange_signal_mask(~uint64_t{0});
  self.sampler = no_sampler;
  if (start_clock(perf_event) || start_clock(perf_event_user) || start_timer()) {
    // Nothing more to try.
  }
  os::set_signal_mask(mask & ~bit_of(sample_signal));
  if (self.sampler == no_sampler) return;
  uint32_t none = no_sampler;
  __atomic_compare_exchange_n(&shared_file.head->sampled_by, &none, self.sampler, false,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void stop_sampling() {
  const uint32_t sampler = self.sampler;
  self.sampler = no_sampler;
  if (sampler == cpu_timer) {
    os::delete_timer(self.timer);
  } else if (sampler != no_sampler) {
    kernel::stop_clock(self.clock);
  }
}

}  // namespace stab::causal
