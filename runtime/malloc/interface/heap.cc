// SPDX-License-Identifier: MIT
// malloc, free and similar functions, which the program and its libraries call, and the choice of
// the allocator that serves them. With heap=0 each of them is a jump to the system's function.
#include "runtime/malloc/interface/heap.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/check.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/bitmap.h"
#include "runtime/malloc/allocators/layer.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/interface/open.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/cache.h"

namespace stab::heap {

// Whether the program calls our malloc. A definition in its own objects precedes ours.
bool is_own_malloc();

namespace {

const Allocator* choice;
int decider;  // the thread that chooses, or has chosen; 0: nobody yet
const char* problem;
const char* others;

const Allocator& decide() {
  rt::Line complaints;  // unread: the start of the runtime reports the same complaints
  const rt::Options options = heap_options(complaints);
  find_system_heap();
  if (!options.heap) return plain;
  if (!is_own_malloc()) {
    problem = "the program has its own malloc";
    return plain;
  }
  others = file_of_other_heap();
  if (others != nullptr && options.allocator != rt::Base::layer) {
    problem =
        "an allocator other than libc's is linked or preloaded (allocator=layer works with it)";
    return plain;
  }
  rt::Random mix(rt::run_seed(options) ^ 0x68656170);
  return open_allocator(options, mix.next());
}

}  // namespace

rt::Options heap_options(rt::Line& complaints) {
  rt::Options options = rt::parse_options(rt::options_text(rt::initial_environment()), complaints);
  if (!options.heap_given) options.heap = heap_by_default;
  return options;
}

const Allocator& chosen() {
  const Allocator* made = __atomic_load_n(&choice, __ATOMIC_ACQUIRE);
  if (made != nullptr) return *made;
  const int own = os::thread_id();
  int first = 0;
  if (!__atomic_compare_exchange_n(&decider, &first, own, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED)) {
    STAB_ALWAYS(Choice, 1, first == own);
    return plain;
  }
  made = &decide();
  __atomic_store_n(&choice, made, __ATOMIC_RELEASE);
  return *made;
}

bool is_chosen() {
  return __atomic_load_n(&choice, __ATOMIC_ACQUIRE) != nullptr;
}

HeapCounts heap_counts() {
  if (choice == nullptr || choice == &plain) return {};
  if (choice == &layer) {
    const CacheCounts all = layer_counts();
    return {true, all.taken + all.given, all.bytes, all.in_order};
  }
  const LargeCounts large = large_counts();
  HeapCounts counts = {true, large.taken + large.given, large.bytes, large.bytes};
  const CacheCounts small = choice == &bitmap ? bitmap_counts() : cache_counts();
  counts.operations += small.taken + small.given;
  counts.bytes += small.bytes;
  counts.unshuffled += small.in_order;
  return counts;
}

bool is_heap_on() {
  return &chosen() != &plain;
}

const char* heap_problem() {
  return problem;
}

const char* heap_of_others() {
  return others;
}

void add_start(rt::Line& line, const rt::Options& options) {
  const bool on = is_heap_on();
  line.field("heap", on ? "on" : "off");
  if (on) line.field("allocator", rt::name_of(options.allocator));
  if (options.heap && !on) line.field("heap_why", heap_problem());
  if (heap_of_others() != nullptr) line.field("other_allocator", heap_of_others());
}

void add_counts(rt::Line& line) {
  const HeapCounts counts = heap_counts();
  if (!counts.known) return;
  line.field("heap_operations", counts.operations).field("heap_bytes", counts.bytes);
  line.field("heap_fixed_bytes", counts.unshuffled);
}

}  // namespace stab::heap

namespace {

using stab::heap::Allocator;
using stab::heap::chosen;

void* first_malloc(size_t size);
void* first_calloc(size_t count, size_t size);
void* first_realloc(void* block, size_t size);
void* first_memalign(size_t alignment, size_t size);
void first_free(void* block);
void* first_aligned_alloc(size_t alignment, size_t size);

}  // namespace

extern "C" {
// The functions to which the names jump. At first they choose the allocator.
__attribute__((visibility("hidden"))) stab::heap::System stab_heap_targets = {
    first_malloc, first_calloc, first_memalign, first_realloc, first_free, first_aligned_alloc};
}

namespace {

const Allocator* current = &stab::heap::plain;

void* calloc_of_ours(size_t count, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return stab::heap::no_memory();
  return current->allocate_zeroed(total);
}

void* realloc_of_ours(void* block, size_t size) {
  if (block == nullptr) return current->allocate(size);
  if (size != 0) return current->resize(block, size);
  current->release(block);
  return nullptr;
}

// An alignment that is not a power of two is raised to the next one, as in libc.
void* memalign_of_ours(size_t alignment, size_t size) {
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return nullptr;
  }
  size_t power = 16;
  while (power < alignment) power *= 2;
  return current->allocate_aligned(power, size);
}

// Returns the functions that serve requests from now on. Choosing the allocator may allocate. The
// choosing thread gets the system's allocator meanwhile, and the choice stays open.
const stab::heap::System& decide() {
  const Allocator& made = chosen();
  if (!stab::heap::is_chosen()) return stab::heap::system_heap;
  current = &made;
  if (&made == &stab::heap::plain)
    stab_heap_targets = stab::heap::system_heap;
  else if (&made == &stab::heap::layer)
    stab_heap_targets = {made.allocate,
                         stab::heap::system_heap.allocate_zeroed,
                         stab::heap::system_heap.allocate_aligned,
                         stab::heap::system_heap.resize,
                         made.release,
                         stab::heap::system_heap.aligned_alloc};
  else
    stab_heap_targets = {made.allocate,   calloc_of_ours, memalign_of_ours,
                         realloc_of_ours, made.release,   memalign_of_ours};
  return stab_heap_targets;
}

void* first_malloc(size_t size) {
  return decide().allocate(size);
}
void* first_calloc(size_t count, size_t size) {
  return decide().allocate_zeroed(count, size);
}
void* first_realloc(void* block, size_t size) {
  return decide().resize(block, size);
}
void* first_memalign(size_t alignment, size_t size) {
  return decide().allocate_aligned(alignment, size);
}
void first_free(void* block) {
  if (block != nullptr) decide().release(block);
}
void* first_aligned_alloc(size_t alignment, size_t size) {
  return decide().aligned_alloc(alignment, size);
}

}  // namespace

// If malloc is the program's own, the functions below call its memalign and realloc, so that all
// blocks belong to one allocator. If malloc is ours, they call ours directly: the program's
// memalign may be implemented by our posix_memalign, which would then call itself.
namespace {

void* aligned(size_t alignment, size_t size);
void* resized(void* block, size_t size);
// The functions that go straight to the system's allocator while all blocks are its own.
const stab::heap::SystemRest& straight();

}  // namespace

#define STAB_PUBLIC __attribute__((weak, visibility("default")))
#define STAB_JUMP(offset) __asm__ volatile("jmpq *stab_heap_targets+" offset "(%rip)")

extern "C" {
STAB_PUBLIC __attribute__((naked)) void* malloc(size_t /*size*/) {
  STAB_JUMP("0");
}
STAB_PUBLIC __attribute__((naked)) void* calloc(size_t /*count*/, size_t /*size*/) {
  STAB_JUMP("8");
}
STAB_PUBLIC __attribute__((naked)) void* memalign(size_t /*alignment*/, size_t /*size*/) {
  STAB_JUMP("16");
}
STAB_PUBLIC __attribute__((naked)) void* aligned_alloc(size_t /*alignment*/, size_t /*size*/) {
  STAB_JUMP("40");
}
STAB_PUBLIC __attribute__((naked)) void* realloc(void* /*block*/, size_t /*size*/) {
  STAB_JUMP("24");
}
STAB_PUBLIC __attribute__((naked)) void free(void* /*block*/) {
  STAB_JUMP("32");
}

STAB_PUBLIC int posix_memalign(void** result, size_t alignment, size_t size) {
  if (straight().posix_memalign != nullptr)
    return straight().posix_memalign(result, alignment, size);
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
    return EINVAL;
  const int before = errno;
  void* block = aligned(alignment, size);
  errno = before;
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

STAB_PUBLIC void* valloc(size_t size) {
  if (straight().valloc != nullptr) return straight().valloc(size);
  return aligned(stab::os::page_size, size);
}

STAB_PUBLIC void* pvalloc(size_t size) {
  if (straight().pvalloc != nullptr) return straight().pvalloc(size);
  const size_t rounded = (size + stab::os::page_size - 1) & -stab::os::page_size;
  if (rounded < size) return stab::heap::no_memory();
  return aligned(stab::os::page_size, rounded);
}

STAB_PUBLIC void* reallocarray(void* block, size_t count, size_t size) {
  if (straight().reallocarray != nullptr) return straight().reallocarray(block, count, size);
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return stab::heap::no_memory();
  return resized(block, total);
}

STAB_PUBLIC size_t malloc_usable_size(void* block) {
  return block == nullptr ? 0 : current->usable(block);
}

// Blocks in a bag that lie at the end of libc's heap keep the heap from shrinking.
STAB_PUBLIC int malloc_trim(size_t pad) {
  stab::heap::flush_layer();
  const bool has_trimmed = stab::heap::arena.trim();
  const auto trim_system = stab::heap::system_rest.trim;
  const int of_system = trim_system == nullptr ? 0 : trim_system(pad);
  return has_trimmed ? 1 : of_system;
}

// Second names for our functions, which the program can't replace.
void* stab_malloc(size_t size);
void stab_free(void* block);
}

__asm__(
    ".hidden stab_malloc\n"
    ".globl stab_malloc\n"
    ".set stab_malloc, malloc\n"
    ".hidden stab_free\n"
    ".globl stab_free\n"
    ".set stab_free, free\n");

namespace {

void* aligned(size_t alignment, size_t size) {
  return stab::heap::is_own_malloc() ? stab_heap_targets.allocate_aligned(alignment, size)
                                     : memalign(alignment, size);
}

void* resized(void* block, size_t size) {
  return stab::heap::is_own_malloc() ? stab_heap_targets.resize(block, size) : realloc(block, size);
}

const stab::heap::SystemRest& straight() {
  static constexpr stab::heap::SystemRest nowhere = {};
  if (!stab::heap::is_own_malloc()) return nowhere;
  if (stab_heap_targets.allocate == first_malloc) decide();
  const bool is_systems = current == &stab::heap::plain || current == &stab::heap::layer;
  return is_systems ? stab::heap::system_rest : nowhere;
}

}  // namespace

namespace stab::heap {
namespace {

// If a program without PIE uses the address of a library's function, it gets the address of a jump
// in the program, whose symbol is undefined there.
bool is_jump_of_program(const void* address) {
  Dl_info info;
  const Elf64_Sym* symbol = nullptr;
  void* entry = &symbol;
  return dladdr1(address, &info, static_cast<void**>(entry), RTLD_DL_SYMENT) != 0 &&
         symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
}

// A program that defines malloc defines free, too. So if the address of malloc doesn't tell whose
// it is, the address of free does.
bool find_own_malloc() {
  void* (*volatile malloc_of_program)(size_t) = malloc;
  void (*volatile free_of_program)(void*) = free;
  if (malloc_of_program == stab_malloc) return true;
  if (!is_jump_of_program(reinterpret_cast<const void*>(malloc_of_program))) return false;
  return free_of_program == stab_free ||
         is_jump_of_program(reinterpret_cast<const void*>(free_of_program));
}

}  // namespace

bool is_own_malloc() {
  enum Known : int { unknown, no, yes };
  static int known;
  if (known == unknown) known = find_own_malloc() ? yes : no;
  return known == yes;
}

}  // namespace stab::heap
