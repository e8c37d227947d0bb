// SPDX-License-Identifier: MIT
// Probes of the kernel (perf, bpftrace) come and go while functions move: at entries and inside of functions, on returns of libc's
// functions and of our own; and some that were there before the program started. A probe counts, and changes nothing else.
// Without the right to set probes the program only works.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <link.h>
#include <linux/perf_event.h>

static int probe_type = -1;

struct Spot {
  uintptr_t address;
  char file[1000];
  uint64_t offset;
};
static int find_spot(struct dl_phdr_info *object, size_t size, void *to) {
  struct Spot *spot = to;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const uintptr_t inside = spot->address - object->dlpi_addr - part->p_vaddr;
    if (part->p_type != PT_LOAD || inside >= part->p_filesz) continue;
    snprintf(spot->file, sizeof spot->file, "%s", *object->dlpi_name ? object->dlpi_name : "/proc/self/exe");
    spot->offset = part->p_offset + inside;
    return 1;
  }
  return 0;
}

// A file that counts how often this process runs through the address, or returns from the function there.
static int set_probe(const volatile void *address, int of_return) {
  struct Spot spot = {.address = (uintptr_t)address};
  struct perf_event_attr what = {.size = sizeof what};
  CHECK(dl_iterate_phdr(find_spot, &spot) == 1);
  what.type = (unsigned)probe_type;
  what.config = (unsigned)of_return;
  what.uprobe_path = (uintptr_t)spot.file;
  what.probe_offset = spot.offset;
  return (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0);
}
static uint64_t hits(int probe) {
  uint64_t count = 0;
  CHECK(read(probe, &count, sizeof count) == sizeof count);
  return count;
}
static void take_away(int probe) { CHECK(close(probe) == 0); }

static int probes_are_allowed(void) {
  FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
  if (!file || fscanf(file, "%d", &probe_type) != 1) probe_type = -1;
  if (file) fclose(file);
  int probe = probe_type < 0 ? -1 : set_probe((const void *)(uintptr_t)work_once, 0);
  if (probe < 0) dprintf(2, "skipped: no probes here (errno %d)\n", errno);
  else take_away(probe);
  return probe >= 0;
}

// Different first instructions.
NOINLINE static uint32_t first_adds(uint32_t x) { return x + 3; }
NOINLINE static uint32_t first_pushes(uint32_t x) { return work(10 + (int)(x % 3)) ^ first_adds(x) ^ work(7); }
NOINLINE static uint32_t first_tests(uint32_t x) { return x == 0 ? 1 : x * 5; }
NOINLINE static uint32_t first_reserves(uint32_t x) {
  volatile uint32_t room[40];
  room[x % 40] = x;
  return room[x % 40] + first_tests(x);
}
NOINLINE static uint32_t first_loads(uint32_t x) {
  static volatile uint32_t place = 4;
  return place + x;
}
static uint32_t (*const volatile firsts[])(uint32_t) = {first_adds, first_pushes, first_tests, first_reserves, first_loads};
enum { FIRSTS = sizeof firsts / sizeof *firsts };
static uint32_t expected[FIRSTS];

static void call_firsts(void) {
  for (uint32_t i = 0; i < FIRSTS; ++i) CHECK(firsts[i](i + 10) == expected[i]);
}
static void probe_entries(double part, int of_return) {
  for (double end = section(part); before(end);) {
    int probes[FIRSTS];
    for (int i = 0; i < FIRSTS; ++i) CHECK((probes[i] = set_probe((const void *)(uintptr_t)firsts[i], of_return)) >= 0);
    for (int i = 0; i < 20; ++i) call_firsts();
    work_ms(1.5);
    for (int i = 0; i < FIRSTS; ++i) take_away(probes[i]);
    call_firsts();
  }
}

// A probe inside: later copies of the function are as they were.
#define INSIDE 0x0f, 0x1f, 0x80, 0x78, 0x56, 0x34, 0x12
NOINLINE static uint32_t has_inside(uint32_t x) {
  x = work_add(x);
  __asm__ volatile("nopl 0x12345678(%rax)");
  return work_turn(x);
}
static const unsigned char *inside(void) {
  static const unsigned char bytes[] = {INSIDE};
  const unsigned char *at = (const unsigned char *)(uintptr_t)has_inside;
  while (memcmp(at, bytes, sizeof bytes) != 0) ++at;
  return at;
}
static void probe_inside(double part) {
  const uint32_t result = has_inside(5);
  for (double end = section(part); before(end);) {
    int probe = set_probe(inside(), 0);
    CHECK(probe >= 0);
    for (double until = cpu_ms() + 4; before(until); work_once()) CHECK(has_inside(5) == result);
    take_away(probe);
  }
}

// Where the probed function returns to is known to the kernel alone, and that takes long. (No other frame is in that layout.)
static int compare(const void *left, const void *right) {
  work_ms(3);
  return *(const int *)left - *(const int *)right;
}
static void *sort_once(void *ended) {
  int numbers[6];
  for (int i = 0; i < 6; ++i) numbers[i] = i * 5 % 6;
  qsort(numbers, 6, sizeof *numbers, compare);
  for (int i = 0; i < 6; ++i) CHECK(numbers[i] == i);
  __atomic_store_n((int *)ended, 1, __ATOMIC_RELEASE);
  return NULL;
}
static void sort_beside(void) {
  int ended = 0;
  pthread_t other = start_thread(sort_once, &ended);
  burn(&ended);
  join_thread(other);
}
static void probe_returns(double part) {
  int probe = set_probe((const void *)(uintptr_t)qsort, 1);
  CHECK(probe >= 0);
  uint64_t sorts = 0;
  for (double end = section(part); before(end) || sorts < 4; ++sorts) sort_beside();
  CHECK(hits(probe) == 0);  // other threads have their own
  take_away(probe);
  sort_beside();
}

// Probes that are there when the program starts, on an entry, a return, and a function that runs for long.
NOINLINE static uint32_t probed(uint32_t x) { return work(30) ^ x; }
NOINLINE static uint32_t probed_return(uint32_t x) {
  work_ms(1.2);
  return x + probed(1);
}
NOINLINE static uint32_t calls_probed(uint32_t x) {
  volatile uint32_t mark = x;
  const uint32_t result = probed_return(x);
  CHECK(mark == x);
  return result;
}
static void start_with_probes(char **arguments) {
  char numbers[2][20];
  const int entry = set_probe((const void *)(uintptr_t)probed, 0), back = set_probe((const void *)(uintptr_t)probed_return, 1);
  CHECK(entry >= 0 && back >= 0);
  snprintf(numbers[0], sizeof numbers[0], "%d", entry);
  snprintf(numbers[1], sizeof numbers[1], "%d", back);
  execl("/proc/self/exe", arguments[0], numbers[0], numbers[1], NULL);
  CHECK(!"exec");
}
static void run_with_probes(int entry, int back) {
  const uint64_t before_us = hits(entry) + hits(back);
  const uint32_t result = work(30) ^ 1;
  uint64_t calls = 0;
  CHECK(before_us == 0);
  for (double end = section(0.4); before(end); ++calls) CHECK(calls_probed(9) == 9 + result);
  CHECK(hits(entry) == calls && hits(back) == calls);
}

int main(int count, char **arguments) {
  for (uint32_t i = 0; i < FIRSTS; ++i) expected[i] = firsts[i](i + 10);
  if (count == 3) {
    run_with_probes(atoi(arguments[1]), atoi(arguments[2]));
  } else if (probes_are_allowed()) {
    probe_entries(0.1, 0);
    probe_entries(0.1, 1);
    probe_inside(0.1);
    probe_returns(0.1);
    start_with_probes(arguments);
  } else {
    work_ms(whole_ms());
  }
  puts("probes change nothing");
  return 0;
}
