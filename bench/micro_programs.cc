// SPDX-License-Identifier: MIT
// Small programs that repeat one operation, and that szc slows down more than ordinary programs.
// `micro_programs NAME` runs for half a second to a second, and `micro_programs NAME N` for the Nth
// part of this time. See bench/micro.
#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#define NEVER_INLINED __attribute__((noinline))

namespace {

unsigned sum = 1;
unsigned part = 1;

void use(void* address) {
  asm volatile("" : : "r"(address) : "memory");
}

jmp_buf place;

NEVER_INLINED void set_jump(unsigned i) {
  if (setjmp(place) != 0) return;
  sum += i;
  if (i % 8 == 0) longjmp(place, 1);
}

void set_jumps() {
  for (unsigned i = 0, end = 40000000 / part; i < end; ++i) set_jump(i);
}

void start_threads() {
  for (unsigned i = 0, end = 20000 / part; i < end; ++i) {
    pthread_t thread = {};
    if (pthread_create(&thread, nullptr, [](void* p) { return p; }, nullptr) != 0) std::abort();
    pthread_join(thread, nullptr);
  }
}

// Several stacks at a time: libc keeps fewer of larger stacks.
void start_thread_groups() {
  for (unsigned i = 0, end = 5000 / part; i < end; ++i) {
    pthread_t threads[4] = {};
    for (pthread_t& thread : threads)
      if (pthread_create(&thread, nullptr, [](void* p) { return p; }, nullptr) != 0) std::abort();
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
}

void fork_children() {
  for (unsigned i = 0, end = 3000 / part; i < end; ++i) {
    if (fork() == 0) _exit(0);
    wait(nullptr);
  }
}

void use_large_blocks() {
  for (unsigned i = 0, end = 10000000 / part; i < end; ++i) {
    auto* block = static_cast<char*>(std::malloc(300000 + i % 8 * 4096));
    block[0] = block[200000] = 1;
    use(block);
    std::free(block);
  }
}

// Blocks that libc maps, until it has freed the first one.
void fill_huge_blocks() {
  constexpr std::size_t size = std::size_t{16} << 20;
  for (unsigned i = 0, end = 8000 / part; i < end; ++i) {
    auto* block = static_cast<char*>(std::malloc(size));
    for (std::size_t at = 0; at < size; at += 4096) block[at] = 1;
    use(block);
    std::free(block);
  }
}

void grow_blocks() {
  for (unsigned i = 0, end = 8000 / part; i < end; ++i) {
    char* block = nullptr;
    for (std::size_t size = 100; size <= 300000; size += 100) {
      block = static_cast<char*>(std::realloc(block, size));
      block[size - 1] = 1;
    }
    std::free(block);
  }
}

template <unsigned number>
NEVER_INLINED unsigned mix(unsigned x) {
  asm volatile("");
  return x * (number | 1) + number;
}

void call_by_one_pointer() {
  unsigned (*volatile pointer)(unsigned) = mix<3>;
  for (unsigned i = 0, end = 300000000 / part; i < end; ++i) sum = pointer(sum);
}

template <unsigned... numbers>
void call_by_pointers(std::integer_sequence<unsigned, numbers...>) {
  unsigned (*const volatile pointers[])(unsigned) = {mix<numbers>...};
  for (unsigned i = 0, end = 200000000 / part; i < end; ++i)
    sum = pointers[(sum >> 7) % sizeof...(numbers)](sum);
}

void call_function_object() {
  std::function<unsigned(unsigned)> object = [](unsigned x) { return x * 33 + 1; };
  use(&object);
  for (unsigned i = 0, end = 300000000 / part; i < end; ++i) sum = object(sum);
}

struct Kind {
  std::string_view name;
  void (*run)();
};

constexpr Kind kinds[] = {
    {"setjmp", set_jumps},
    {"threads", start_threads},
    {"thread_groups", start_thread_groups},
    {"fork", fork_children},
    {"large_blocks", use_large_blocks},
    {"huge_blocks", fill_huge_blocks},
    {"realloc", grow_blocks},
    {"one_pointer", call_by_one_pointer},
    {"pointers", [] { call_by_pointers(std::make_integer_sequence<unsigned, 512>()); }},
    {"std_function", call_function_object},
};

}  // namespace

int main(int count, char** arguments) {
  if (count == 3) part = static_cast<unsigned>(std::atoi(arguments[2]));
  if (part == 0) return 2;
  for (const Kind& kind : kinds) {
    if (count < 2 || kind.name != arguments[1]) continue;
    kind.run();
    std::printf("%u\n", sum);
    return 0;
  }
  for (const Kind& kind : kinds) std::printf("%s\n", kind.name.data());
  return count == 1 ? 0 : 2;
}
