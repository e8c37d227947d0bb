// SPDX-License-Identifier: MIT
#include "runtime/start/thread_stacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/epoch/epoch.h"
#include "runtime/start/sandbox.h"

namespace stab::rt {
namespace {

constexpr uint64_t growth = 8;
constexpr uint64_t extra = 128 * 1024;

// Functions of libc, or of libpthread, which may be missing.
struct Attributes {
  int (*get_default)(pthread_attr_t*);
  int (*set_default)(const pthread_attr_t*);
  int (*get_size)(const pthread_attr_t*, size_t*);
  int (*set_size)(pthread_attr_t*, size_t);
  int (*get_stack)(const pthread_attr_t*, void**, size_t*);
  int (*destroy)(pthread_attr_t*);
};

constinit Attributes libc = {};
bool known;       // all functions were found
uint64_t before;  // the program's original default size
bool raised;      // the default size is larger now
bool lowered;     // it was larger, and will be again once there is room
uint64_t small_count;

template <class T>
bool find(T& function, const char* name) {
  function = reinterpret_cast<T>(dlsym(RTLD_NEXT, name));
  return function != nullptr;
}

bool find_functions() {
  return find(libc.get_default, "pthread_getattr_default_np") &&
         find(libc.set_default, "pthread_setattr_default_np") &&
         find(libc.get_size, "pthread_attr_getstacksize") &&
         find(libc.set_size, "pthread_attr_setstacksize") &&
         find(libc.get_stack, "pthread_attr_getstack") &&
         find(libc.destroy, "pthread_attr_destroy");
}

uint64_t larger(uint64_t size) {
  if (size >= stack_wanted) return size;
  const uint64_t most = size * growth + extra;
  return most < stack_wanted ? most : stack_wanted;
}

bool set_default(uint64_t size) {
  pthread_attr_t attributes;
  return libc.get_default(&attributes) == 0 && libc.set_size(&attributes, size) == 0 &&
         libc.set_default(&attributes) == 0;
}

bool lower_default() {
  __atomic_store_n(&raised, false, __ATOMIC_RELAXED);
  const bool done = set_default(before);
  __atomic_store_n(&lowered, true, __ATOMIC_RELAXED);
  return done;
}

void raise_again() {
  if (!__atomic_exchange_n(&lowered, false, __ATOMIC_RELAXED)) return;
  const bool done = set_default(larger(before));
  __atomic_store_n(done ? &raised : &lowered, true, __ATOMIC_RELAXED);
}

// Whether the address space was limited when it was last safe to ask the kernel.
bool is_limited() {
  static bool last;
  if (!may_be_in_sandbox())
    __atomic_store_n(&last, os::address_space_is_limited(), __ATOMIC_RELAXED);
  return __atomic_load_n(&last, __ATOMIC_RELAXED);
}

// Room that larger stacks take would be missing for later threads, and for everything else.
const pthread_attr_t* without_more_stack(const pthread_attr_t* own) {
  if (__atomic_load_n(&raised, __ATOMIC_RELAXED)) lower_default();
  const uint64_t size = stack_size(own);
  if (larger(size) != size) count_small_stack();
  return own;
}

}  // namespace

const char* raise_default_stack(const BeforeStart& /*proof*/) {
  known = find_functions();
  pthread_attr_t attributes;
  size_t size = 0;
  if (!known || libc.get_default(&attributes) != 0 || libc.get_size(&attributes, &size) != 0)
    return "the size of thread stacks is unknown";
  before = size;
  if (larger(size) == size) return nullptr;
  if (is_limited()) return "the address space is limited";
  raised = set_default(larger(size));
  return raised ? nullptr : "the size of thread stacks cannot be raised";
}

const pthread_attr_t* with_more_stack(const pthread_attr_t* own, pthread_attr_t& room) {
  void* start = nullptr;
  size_t size = 0;
  if (!known) return own;
  if (is_limited()) return without_more_stack(own);
  raise_again();
  if (own == nullptr || libc.get_stack(own, &start, &size) != 0) return own;
  const bool is_own_memory = reinterpret_cast<uint64_t>(start) + size != 0;
  if (is_own_memory || size == 0 || larger(size) == size) return own;
  room = *own;
  return libc.set_size(&room, larger(size)) == 0 ? &room : own;
}

namespace {

// Called after a thread could not be made with `used`. Returns the attributes with which it may be
// possible: `own`, or a copy in `room` with the program's default size; nullptr if there are none.
const pthread_attr_t* with_less_stack(const pthread_attr_t* own, const pthread_attr_t* used,
                                      pthread_attr_t& room) {
  if (own != used) return own;
  void* start = nullptr;
  size_t size = 0;
  if (!known || larger(before) == before) return nullptr;
  if (own != nullptr) {
    if (libc.get_stack(own, &start, &size) != 0 || size != 0) return nullptr;
    room = *own;
  } else if (libc.get_default(&room) != 0) {
    return nullptr;
  }
  if (libc.set_size(&room, before) == 0) return &room;
  if (own == nullptr) libc.destroy(&room);
  return nullptr;
}

}  // namespace

void count_small_stack() {
  __atomic_fetch_add(&small_count, 1, __ATOMIC_RELAXED);
}

uint64_t small_stacks() {
  return __atomic_load_n(&small_count, __ATOMIC_RELAXED);
}

uint64_t stack_size(const pthread_attr_t* attributes) {
  size_t size = 0;
  if (!known) return 0;
  if (attributes != nullptr) return libc.get_size(attributes, &size) == 0 ? size : 0;
  return __atomic_load_n(&raised, __ATOMIC_RELAXED) ? larger(before) : before;
}

namespace {

// The first frames.

constexpr uint64_t step = 16;
constexpr uint64_t main_span = 65536;
constexpr uint64_t thread_span = 4096;
constexpr uint64_t stack_share = 64;  // the shift takes at most this share of a small stack

using Main = int (*)(int, char**, char**);
using StartMain = int (*)(Main, int, char**, Main, void (*)(), void (*)(), void*);
using Routine = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Routine, void*);
using PlainRoutine = int (*)(void*);
using PlainCreate = int (*)(thrd_t*, PlainRoutine, void*);

bool moved;
bool announced;
uint64_t thread_seed;
uint64_t threads_made;
uint64_t main_shift;
Main program;

// A thread that is being started. Its slot is free again once the thread runs.
struct Arrival {
  uint32_t taken;
  uint32_t shift;
  void* function;
  void* argument;
};
constexpr uint32_t most_arrivals = 512;
constinit Arrival arrivals[most_arrivals] = {};

// Calls `function` with three arguments on a stack that is `shift` bytes lower.
__attribute__((naked)) uint64_t call_lower(uint64_t /*first*/, uint64_t /*second*/,
                                           uint64_t /*third*/, void* /*function*/,
                                           uint64_t /*shift*/) {
  __asm__ volatile(
      "pushq %rbp\n"
      ".cfi_def_cfa_offset 16\n"
      ".cfi_offset %rbp, -16\n"
      "movq %rsp, %rbp\n"
      ".cfi_def_cfa_register %rbp\n"
      "subq %r8, %rsp\n"
      "callq *%rcx\n"
      "leave\n"
      ".cfi_def_cfa %rsp, 8\n"
      "retq\n");
}

int begin_main(int count, char** arguments, char** environment) {
  return static_cast<int>(call_lower(
      static_cast<uint64_t>(count), reinterpret_cast<uint64_t>(arguments),
      reinterpret_cast<uint64_t>(environment), reinterpret_cast<void*>(program), main_shift));
}

uint64_t arrive(void* argument) {
  auto* arrival = static_cast<Arrival*>(argument);
  void* function = arrival->function;
  const auto own = reinterpret_cast<uint64_t>(arrival->argument);
  const uint64_t shift = arrival->shift;
  __atomic_store_n(&arrival->taken, 0, __ATOMIC_RELEASE);
  if (announced) begin_thread();
  return call_lower(own, 0, 0, function, shift);
}

void* run_thread(void* argument) {
  return reinterpret_cast<void*>(arrive(argument));
}

int run_plain_thread(void* argument) {
  return static_cast<int>(arrive(argument));
}

Arrival* take_arrival(void* function, void* argument) {
  if (!moved && !announced) return nullptr;
  for (Arrival& arrival : arrivals) {
    if (__atomic_exchange_n(&arrival.taken, 1, __ATOMIC_ACQUIRE) != 0) continue;
    arrival.function = function;
    arrival.argument = argument;
    arrival.shift = 0;
    return &arrival;
  }
  return nullptr;
}

template <class T>
T next_function(const char* name) {
  return reinterpret_cast<T>(dlsym(RTLD_NEXT, name));
}

// Draws a shift below `most` for a stack of this size.
uint64_t shift_on(Random& random, uint64_t size, uint64_t most) {
  const uint64_t share = size / stack_share;
  const uint64_t steps = (share < most ? share : most) / step;
  return random.below(steps == 0 ? 1 : steps) * step;
}

uint32_t draw_shift(const pthread_attr_t* attributes) {
  const uint64_t index = __atomic_fetch_add(&threads_made, 1, __ATOMIC_RELAXED);
  Random random(thread_seed + index * 0x9e3779b97f4a7c15u);
  return static_cast<uint32_t>(shift_on(random, stack_size(attributes), thread_span));
}

int create(Create next, pthread_t* thread, const pthread_attr_t* own, Arrival& arrival) {
  if (!moved) return next(thread, own, run_thread, &arrival);
  pthread_attr_t room;
  const pthread_attr_t* attributes = with_more_stack(own, room);
  arrival.shift = draw_shift(attributes);
  int result = next(thread, attributes, run_thread, &arrival);
  const pthread_attr_t* less = result == EAGAIN ? with_less_stack(own, attributes, room) : nullptr;
  if (less == nullptr) return result;
  arrival.shift = draw_shift(less);
  result = next(thread, less, run_thread, &arrival);
  if (result == 0) count_small_stack();
  if (own == nullptr) libc.destroy(&room);
  return result;
}

int create_plain(PlainCreate next, thrd_t* thread, Arrival& arrival) {
  if (!moved) return next(thread, run_plain_thread, &arrival);
  pthread_attr_t room;
  with_more_stack(nullptr, room);  // lowers the default size if the address space is limited by now
  arrival.shift = draw_shift(nullptr);
  int result = next(thread, run_plain_thread, &arrival);
  // Such a thread has no attributes, so the default size changes for a moment.
  if (result != thrd_success && known && larger(before) != before && lower_default()) {
    arrival.shift = draw_shift(nullptr);
    result = next(thread, run_plain_thread, &arrival);
    if (result == thrd_success) count_small_stack();
    raise_again();
  }
  return result;
}

}  // namespace

void move_first_frames(const BeforeStart& /*proof*/, const Random& random, uint64_t main_stack) {
  Random own = random;
  main_shift = shift_on(own, main_stack, main_span);
  thread_seed = own.next();
  moved = true;
}

void announce_threads() {
  announced = true;
}

}  // namespace stab::rt

// Weak: sanitizers and programs define their own, and then ours is not used.
extern "C" __attribute__((weak)) int __libc_start_main(stab::rt::Main start, int count,
                                                       char** arguments, stab::rt::Main begin,
                                                       void (*end)(), void (*loader)(),
                                                       void* stack) {
  using namespace stab::rt;
  const auto next = next_function<StartMain>("__libc_start_main");
  if (next == nullptr) stab::os::exit_process(127);
  program = start;
  return next(moved ? begin_main : start, count, arguments, begin, end, loader, stack);
}

extern "C" __attribute__((weak)) int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*,
                                                                  stab::rt::Routine, void*);

extern "C" __attribute__((weak, visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, stab::rt::Routine routine,
    void* argument) {
  using namespace stab::rt;
  static Create next;
  if (next == nullptr)
    next = &__interceptor_pthread_create != nullptr ? &__interceptor_pthread_create
                                                    : next_function<Create>("pthread_create");
  if (next == nullptr) return EAGAIN;
  Arrival* arrival = take_arrival(reinterpret_cast<void*>(routine), argument);
  if (arrival == nullptr) return next(thread, attributes, routine, argument);
  const int result = create(next, thread, attributes, *arrival);
  if (result != 0) __atomic_store_n(&arrival->taken, 0, __ATOMIC_RELEASE);
  return result;
}

// thrd_create does not call pthread_create.
extern "C" __attribute__((weak, visibility("default"))) int thrd_create(
    thrd_t* thread, stab::rt::PlainRoutine routine, void* argument) {
  using namespace stab::rt;
  static PlainCreate next;
  if (next == nullptr) next = next_function<PlainCreate>("thrd_create");
  if (next == nullptr) return thrd_error;
  Arrival* arrival = take_arrival(reinterpret_cast<void*>(routine), argument);
  if (arrival == nullptr) return next(thread, routine, argument);
  const int result = create_plain(next, thread, *arrival);
  if (result != thrd_success) __atomic_store_n(&arrival->taken, 0, __ATOMIC_RELEASE);
  return result;
}
