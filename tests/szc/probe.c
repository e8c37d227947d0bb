// SPDX-License-Identifier: MIT
// szc_probe entry|return FILE FUNCTION PROGRAM...: runs the program with a probe of the kernel on a function of a library's
// file. Without the right to set one it says so and ends with 77.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Where in the library's file the address is; 0: nowhere.
static uint64_t offset_of(const Dl_info *library, uintptr_t address) {
  const ElfW(Ehdr) *elf = library->dli_fbase;
  const ElfW(Phdr) *parts = (const void *)((const char *)elf + elf->e_phoff);
  for (int i = 0; i < elf->e_phnum; ++i) {
    const uintptr_t inside = address - (uintptr_t)elf - parts[i].p_vaddr;
    if (parts[i].p_type == PT_LOAD && inside < parts[i].p_filesz) return parts[i].p_offset + inside;
  }
  return 0;
}

int main(int count, char **arguments) {
  if (count < 5) return 2;
  unsigned type = 0;
  FILE *number = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
  void *file = dlopen(arguments[2], RTLD_NOW), *function = file ? dlsym(file, arguments[3]) : NULL;
  Dl_info library;
  if (!function || !dladdr(function, &library)) return fprintf(stderr, "no %s in %s\n", arguments[3], arguments[2]), 2;
  struct perf_event_attr what = {.size = sizeof what, .config = strcmp(arguments[1], "return") == 0, .inherit = 1};
  if (number && fscanf(number, "%u", &type) == 1) what.type = type;
  what.uprobe_path = (uintptr_t)library.dli_fname;
  what.probe_offset = offset_of(&library, (uintptr_t)function);
  if (type == 0 || syscall(SYS_perf_event_open, &what, 0, -1, -1, 0) < 0)
    return fprintf(stderr, "no probes of the kernel here: %s\n", type == 0 ? "it has none" : strerror(errno)), 77;
  execvp(arguments[4], arguments + 4);
  return 127;
}
