// SPDX-License-Identifier: MIT
#include "runtime/debug/debugger.h"

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/debug/symbol_file.h"

// GDB's interface for code that is made at run time: it stops at this function and reads the list.
extern "C" {
struct JitEntry {
  JitEntry* next;
  JitEntry* previous;
  const void* file;
  uint64_t size;
};
struct JitDescriptor {
  uint32_t version;
  uint32_t action;  // 0 nothing, 1 registered, 2 unregistered
  JitEntry* relevant;
  JitEntry* first;
};
// Weak: a program that makes code itself brings its own.
__attribute__((weak, visibility("default"))) JitDescriptor __jit_debug_descriptor = {1, 0, nullptr,
                                                                                     nullptr};
__attribute__((weak, noinline, visibility("default"))) void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");
}
}

namespace stab::rt {
namespace {

constexpr uint32_t registered = 1;
constexpr uint32_t unregistered = 2;

int map_owner;  // the process whose map we have begun

// Others may write to /tmp, too: the file must be one that this process has made. What an earlier
// process of this number has left is of no use.
long open_perf_map(const char* path) {
  if (map_owner == os::process_id()) return os::open_append(path);
  os::remove_file(path);
  const long fd = os::open_new(path);
  if (!os::failed(fd)) map_owner = os::process_id();
  return fd;
}

// Start and size in hexadecimal, and the name.
void write_perf_map(const Image& image) {
  Line path;
  path.text("/tmp/perf-").number(static_cast<uint64_t>(os::process_id())).text(".map");
  const long fd = open_perf_map(path.c_string());
  if (os::failed(fd)) return;
  const Layout& layout = image.current();
  for (uint32_t rank = 0; rank < layout.count; ++rank) {
    const uint32_t f = layout.order[rank];
    Line line;
    line.hex_digits(reinterpret_cast<uint64_t>(layout.copy(f))).text(" ");
    line.hex_digits(image.functions()[f].size);
    line.text(" ").text(image.name(f)).text("\n");
    os::write_all(static_cast<int>(fd), line.data(), line.size());
  }
  if (image.board.in_use()) {
    Line line;
    line.hex_digits(address_of(image.board.function_stub(0))).text(" ");
    line.hex_digits((image.board.functions + image.board.labels) * Switchboard::stub_bytes)
        .text(" [stubs]\n");
    os::write_all(static_cast<int>(fd), line.data(), line.size());
  }
  os::close_file(static_cast<int>(fd));
}

void announce(JitEntry* entry, uint32_t action) {
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_descriptor.action = action;
  __jit_debug_register_code();
}

// The entry and the file behind it share a mapping.
void enter(Image& image) {
  const Layout& layout = image.current();
  const uint64_t file_size = symbol_file_size(image, layout);
  const uint64_t size = align_up(sizeof(JitEntry) + file_size, os::page_size);
  const long memory = os::map(0, size, os::read | os::write);
  if (os::failed(memory)) return;
  auto* entry = reinterpret_cast<JitEntry*>(memory);
  auto* file = reinterpret_cast<uint8_t*>(entry + 1);
  write_symbol_file(image, layout, file);
  *entry = {__jit_debug_descriptor.first, nullptr, file, file_size};
  if (entry->next != nullptr) entry->next->previous = entry;
  __jit_debug_descriptor.first = entry;
  image.debugger_entry = entry;
  image.debugger_size = size;
  announce(entry, registered);
}

}  // namespace

// "TracerPid:\t0" in /proc/self/status; without /proc nobody is assumed.
bool is_traced() {
  char text[512];
  const long fd = os::open_read("/proc/self/status");
  if (os::failed(fd)) return false;
  const long got = os::read_some(static_cast<int>(fd), text, sizeof text);
  os::close_file(static_cast<int>(fd));
  constexpr char key[] = "\nTracerPid:\t";
  constexpr long key_size = sizeof key - 1;
  for (long i = 0; i + key_size < got; ++i)
    if (equal(text + i, key, key_size)) return text[i + key_size] != '0';
  return false;
}

void introduce_to_debuggers(Image& image, const Options& options) {
  if (options.perf_map) write_perf_map(image);
  if (options.gdb || is_traced()) enter(image);
}

void withdraw_from_debuggers(Image& image) {
  auto* entry = static_cast<JitEntry*>(image.debugger_entry);
  if (entry == nullptr) return;
  if (entry->next != nullptr) entry->next->previous = entry->previous;
  if (entry->previous != nullptr)
    entry->previous->next = entry->next;
  else
    __jit_debug_descriptor.first = entry->next;
  announce(entry, unregistered);
  os::unmap(reinterpret_cast<uint64_t>(entry), image.debugger_size);
  image.debugger_entry = nullptr;
}

}  // namespace stab::rt
