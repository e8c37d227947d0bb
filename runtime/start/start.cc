// SPDX-License-Identifier: MIT
// The runtime's beginning and end. It begins before every constructor of the program and of its
// libraries, while there is one thread and no code of the program has run.
#include <elf.h>
#include <signal.h>
#include <ucontext.h>

#include "runtime/abi/abi.h"
#include "runtime/arch/signals.h"
#include "runtime/arch/stacks.h"
#include "runtime/base/memory.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/base/output_files.h"
#include "runtime/epoch/contexts.h"
#include "runtime/epoch/epoch.h"
#include "runtime/epoch/epoch_signal.h"
#include "runtime/epoch/libraries.h"
#include "runtime/image/debugger.h"
#include "runtime/image/image.h"
#include "runtime/image/pads.h"
#include "runtime/image/place.h"
#include "runtime/image/unwind.h"
#include "runtime/malloc/interface/heap.h"
#include "runtime/start/last_line.h"
#include "runtime/start/region_clock.h"
#include "runtime/start/report.h"
#include "runtime/start/sandbox.h"
#include "runtime/start/thread_stacks.h"

extern "C" __attribute__((visibility("hidden"))) const Elf64_Ehdr __ehdr_start;
extern "C" __attribute__((weak)) int __cxa_at_quick_exit(void (*)(void*), void*);
extern "C" __attribute__((weak)) int __register_atfork(void (*)(), void (*)(), void (*)(), void*);

// Pages of our own: see section.h.
__asm__(".section stab_text,\"ax\",@progbits\n.p2align 12\n.previous\n");

namespace stab::heap {
constexpr bool heap_by_default = false;
}

namespace stab::rt {

struct AtStartAndEnd {
  static OutsideHandlers outside() { return {}; }
};

namespace {

// A crash of the program has the same signal, exit status and core file as it would have without
// the runtime. The runtime only writes a line first, on a stack of its own.

constexpr int watched[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

alignas(16) uint8_t stack[16 << 10];
bool stack_taken;

struct Crash {
  int number;
  uint64_t pc;
};

void tell(void* argument) {
  const auto* crash = static_cast<const Crash*>(argument);
  report_signal(crash->number, crash->pc, locate(crash->pc));
}

// The program's alternate stack may have room for the kernel's frame and for little more.
void tell_on_own_stack(Crash crash) {
  if (__atomic_exchange_n(&stack_taken, true, __ATOMIC_RELAXED)) return tell(&crash);
  call_on_stack(stack + sizeof stack, tell, &crash);
}

// A fault happens again when the handler returns, now with the default action. A signal that was
// sent (kill, raise, abort) would not come again, so it is sent again.
void on_crash(int number, void* info, void* context) {
  const auto* ucontext = static_cast<const ucontext_t*>(context);
  const auto pc = static_cast<uint64_t>(ucontext->uc_mcontext.gregs[REG_RIP]);
  if (report_wanted()) tell_on_own_stack({number, pc});
  const os::SignalAction standard = {nullptr, os::flag_restorer, return_from_signal, 0};
  os::signal_action(number, &standard, nullptr);
  if (static_cast<siginfo_t*>(info)->si_code <= 0) os::queue_to_self(number, info);
}

// Only signals that a bad stack can cause run on the alternate stack: if the alternate stack is too
// small for the kernel's frame, the signal becomes SIGSEGV.
uint64_t flags_for(int number) {
  const bool by_bad_stack = number == SIGSEGV || number == SIGBUS;
  return os::flag_siginfo | os::flag_restorer | (by_bad_stack ? os::flag_onstack : 0);
}

// Installs our handler for each signal of a crash that has its default action. A handler that the
// program installs later replaces ours.
void watch_crashes() {
  for (const int number : watched) {
    os::SignalAction old = {};
    // The handler blocks the signals of epochs, because a walk can't leave the handler's own stack.
    const os::SignalAction ours = {on_crash, flags_for(number), return_from_signal, UINT64_MAX};
    if (os::failed(os::signal_action(number, nullptr, &old)) || old.handler != nullptr) continue;
    os::signal_action(number, &ours, nullptr);
  }
}

constexpr int refusal_status = 125;

// The regions between STAB_BEGIN() and STAB_END(), without names and with names.
constinit RegionClock plain_region{};
constinit NamedRegions named_regions{};

constinit Options options;
uint64_t seed;
uint64_t images_seen;
const char* small_stack;
bool pads_fit = true;  // main's stack has room for pads
uint64_t main_began;
bool active;
bool can_replace;  // the runtime can put code in place, or functions move only once
bool ended;        // the executable has run its destructors; later ones may call images, which stay
constinit LastLine last_line(uint64_t{5} * 1000 * 1000 * 1000);

void print(const char* line, size_t size) {
  os::write_all(1, line, size);
}

void read_options(char** environment) {
  Line complaints;
  // The compiler would turn an assignment of this size into a call of memcpy.
  const Options read = parse_options(options_text(environment), complaints);
  copy_bytes(&options, &read, sizeof options);
  if (options.help) {
    describe_options(print);
    os::exit_process(0);
  }
  if (options.kernel.size != 0) os::believe_in_kernel(options.kernel.start);
  if (complaints.size() == 0) return;
  complain("STABILIZER_OPTIONS: ", complaints.c_string());
  if (options.strict) os::exit_process(refusal_status);
}

// Each image has its own stream of random numbers, so that one more library does not change the
// other images.
Random random_for_next_image() {
  const uint64_t index = __atomic_fetch_add(&images_seen, 1, __ATOMIC_RELAXED);
  Random mix(seed + index * 0x9e3779b97f4a7c15u);
  return Random(mix.next());
}

void tell(const Image& image, const char* problem) {
  if (problem != nullptr && options.strict) {
    complain("not randomized, and strict=1: ", problem);
    os::exit_process(refusal_status);
  }
  if (options.verbose == 0) return;
  Line line;
  line.text("seed ").number(seed).text(", ").number(image.moved()).text(" functions moved, ");
  line.number(image.moved_bytes).text(" bytes, ").number(image.setup_ns / 1000).text(" us");
  if (problem != nullptr) line.text(": ").text(problem);
  complain("", line.c_string());
}

void check_heap() {
  if (!heap::is_heap_on() && options.heap && options.strict) {
    complain("not randomized, and strict=1: ", heap::heap_problem());
    os::exit_process(refusal_status);
  }
}

void look_for_pads(Image& image, void* found) {
  if (why_no_pads(options, image) == nullptr) *static_cast<bool*>(found) = true;
}

// The pads of one library are enough, so this is called when the libraries have told their images.
void check_pads() {
  if (!active || !options.strict) return;
  const NoEpochs guard(AtStartAndEnd::outside());
  bool found = false;
  for_each_image(look_for_pads, &found);
  const Image* own = image_with(&stab_note);
  if (found || own == nullptr) return;
  complain("not randomized, and strict=1: ", why_no_pads(options, *own));
  os::exit_process(refusal_status);
}

void refuse_or_complain(const char* why_once) {
  if (!options.strict && options.verbose == 0) return;
  complain("functions move at start only: ", why_once);
  if (options.strict) os::exit_process(refusal_status);
}

// If one image makes small stacks, frames of any image may lie on them.
void look_for_small_stacks(const Image& image) {
  if (!options.stack || (image.table->flags & abi::image_small_stacks) == 0) return;
  const char* name = first_with_stacks(*image.table);
  if (name == nullptr && image.note != &stab_note) name = file_of(image.note);
  keep_pads_small();
  pads_small_for.set(name != nullptr ? name : "sigaltstack, or stacks of threads");
}

const char* take_in(Image* image, const abi::Note* note, const Elf64_Ehdr* elf) {
  if (image == nullptr) return "too many images";
  const char* problem = open_image(*image, note, elf);
  if (problem == nullptr) {
    look_for_small_stacks(*image);
    problem = randomize(*image, random_for_next_image(),
                        {options.code, options.stack && pads_fit, options.again() && can_replace});
  }
  if (problem != nullptr) return problem;
  publish_image(image);
  introduce_to_debuggers(*image, options);
  return nullptr;
}

void report_end() {
  const bool is_owner = report_wanted();
  if ((!is_owner && !report_wanted_by_child()) || !last_line.begin()) return;
  if (is_owner)
    report_exit(main_began == 0 ? 0 : os::monotonic_ns() - main_began, plain_region, named_regions,
                epoch_counts());
  else
    report_child(epoch_counts());
  last_line.end();
}
void report_quick_exit(void* /*argument*/) {
  report_end();
}

// The function that is registered first is called last, and does not belong to a library that may
// be unloaded.
void watch_quick_exit() {
  if (&__cxa_at_quick_exit != nullptr) __cxa_at_quick_exit(report_quick_exit, nullptr);
}

// A child of fork must know that it is one before a sandbox forbids it to ask the kernel, also
// where functions move at start only.
void watch_forks() {
  if (&__register_atfork != nullptr) __register_atfork(nullptr, nullptr, note_fork, nullptr);
}

// A program may need all of a stack that can't grow beyond what the program got. Then pads are
// small, and on a stack of less than 1 MB there are none.
void prepare_stacks(const BeforeStart& proof) {
  constexpr uint64_t least_for_pads = uint64_t{1} << 20;
  small_stack = raise_default_stack(proof);
  // The kernel keeps 128 MB free below the stack in any case.
  const uint64_t main_stack = os::allow_stack(stack_wanted);
  move_first_frames(proof, Random(seed ^ 0x2545f4914f6cdd1du), main_stack);
  if (main_stack == stack_wanted) return;
  small_stack = "the stack limit cannot be raised";
  pads_small_for.set("the limit on the stack's size");
  keep_pads_small();
  pads_fit = main_stack >= least_for_pads;
}

// Writes the first line of the report, if the options ask for a report.
void begin_report(const Image* image, const char* problem, const char* why_once) {
  if (options.report.size == 0) return;
  if (report_wanted() && report_start(options, seed, image, problem, why_once, small_stack)) return;
  if (options.strict || options.verbose != 0) complain_about_report(options);
  if (options.strict) os::exit_process(refusal_status);
}

void start(char** environment) {
  read_options(environment);
  open_report(options);
  if (report_wanted()) {
    watch_quick_exit();
    watch_forks();
  }
  open_places(options);
  check_heap();
  prepare_sandbox(AtStartAndEnd::outside());
  prepare_contexts((options.code || options.stack) && options.again(), AtStartAndEnd::outside());
  prepare_find_object(AtStartAndEnd::outside());
  if (options.code || options.stack || options.heap) seed = run_seed(options);
  if (options.stack) prepare_stacks(BeforeStart());
  BeforeStart::end();
  if (!options.code && !options.stack) {
    begin_report(nullptr, "code=0", nullptr);
    return;
  }
  active = true;
  prepare_libraries();
  if (options.stack && libraries_make_stacks()) keep_pads_small();
  can_replace = !options.again() || can_put_code();
  Image* image = claim_image();
  const char* problem = take_in(image, &stab_note, &__ehdr_start);
  const char* why_once = nullptr;
  if (problem == nullptr && options.again()) trust_callers_in(image->first());
  if (problem == nullptr && options.again())
    why_once = can_replace ? start_epochs(options, AtStartAndEnd::outside())
                           : "code cannot be put in place (mremap was refused)";
  if (why_once != nullptr)
    refuse_or_complain(why_once);
  else if (problem == nullptr && options.again())
    announce_threads();
  tell(*image, problem);
  begin_report(image, problem, why_once);
  if (report_wanted()) watch_crashes();
}

void preinit(int /*count*/, char** /*arguments*/, char** environment) {
  start(environment);
}
void init_last() {
  check_pads();
  main_began = report_wanted() ? os::monotonic_ns() : 0;
}
void fini_last() {
  ended = true;
  stop_epochs(AtStartAndEnd::outside());
  report_end();
}

__attribute__((section(".preinit_array"), used)) void (*const preinit_entry)(int, char**,
                                                                             char**) = preinit;
__attribute__((section(".init_array"), used)) void (*const init_entry)() = init_last;
__attribute__((section(".fini_array.00000"), used)) void (*const fini_entry)() = fini_last;

constexpr uint64_t signal_bit(int number) {
  return uint64_t{1} << (number - 1);
}
constexpr uint64_t caused_by_code = signal_bit(SIGILL) | signal_bit(SIGTRAP) | signal_bit(SIGBUS) |
                                    signal_bit(SIGFPE) | signal_bit(SIGSEGV) | signal_bit(SIGSYS);
constexpr uint64_t kept_by_libc =
    signal_bit(epoch_signal::number) | signal_bit(epoch_signal::number + 1);

// While an image is taken in, its code is not executable for a moment. A handler of the program that
// called exit() then would reach the image's destructors. So the thread blocks signals, except for
// those that code itself causes and the two that libc keeps for itself.
class NoHandlers {
 public:
  NoHandlers() : mask_(os::block_signals(~(caused_by_code | kept_by_libc))) {}
  ~NoHandlers() { os::set_signal_mask(mask_); }
  NoHandlers(const NoHandlers&) = delete;
  NoHandlers& operator=(const NoHandlers&) = delete;

 private:
  uint64_t mask_;
};

}  // namespace
}  // namespace stab::rt

using namespace stab::rt;

extern "C" __attribute__((visibility("default"))) void stab_add_image(const stab::abi::Note* note,
                                                                      const Elf64_Ehdr* elf) {
  if (!active) return;
  const NoEpochs guard(AtStartAndEnd::outside());
  const NoHandlers no_handlers;
  Image* image = claim_image();
  const char* problem = take_in(image, note, elf);
  if (image == nullptr) return;
  tell(*image, problem);
  if (report_wanted()) report_image(*image, problem);
  if (problem != nullptr) drop_image(image);
}

extern "C" __attribute__((visibility("default"))) void stab_remove_image(
    const stab::abi::Note* note) {
  if (!active || ended) return;
  const NoEpochs guard(AtStartAndEnd::outside());
  const NoHandlers no_handlers;
  Image* image = image_with(note);
  if (image == nullptr) return;
  retract_image(image);
  withdraw_from_debuggers(*image);
  close_image(*image);
  drop_image(image);
}

// _exit runs no destructors, so the report's last line is written here. A signal handler may call
// it, even while that line is being written: it takes no locks, and waits only for another thread's
// line, for a limited time. Weak, because a program may define its own.
extern "C" __attribute__((weak, visibility("default"), noreturn)) void _exit(int status) {
  report_end();
  stab::os::exit_process(status);
}
extern "C" __attribute__((weak, visibility("default"), noreturn)) void _Exit(int status) {
  _exit(status);
}

extern "C" __attribute__((visibility("default"))) void stab_begin() {
  plain_region.begin();
}

extern "C" __attribute__((visibility("default"))) void stab_end() {
  plain_region.end();
}

extern "C" __attribute__((visibility("default"))) void stab_begin_region(const char* name) {
  named_regions.begin(name);
}

extern "C" __attribute__((visibility("default"))) void stab_end_region(const char* name) {
  named_regions.end(name);
}

extern "C" __attribute__((visibility("default"))) void stab_randomize() {
  randomize_now();
}
