// SPDX-License-Identifier: MIT
#include "runtime/image/debugger.h"

#include <elf.h>
#include <stdint.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/image.h"

namespace stab::rt {
namespace {

// The symbol file is an ELF file in memory. It tells a debugger the names of an image's copies and
// how to unwind them.

// header | section headers | symbols | names | frames
enum Section : uint32_t { none, text, frames, symbols, names, section_names, section_count };

constexpr char section_name_bytes[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab";
constexpr uint32_t name_at[section_count] = {0, 1, 7, 17, 25, 33};

uint64_t names_size(const Image& image, const Layout& layout) {
  uint64_t size = 1;
  for (uint32_t rank = 0; rank < layout.count; ++rank)
    size += length_of(image.name(layout.order[rank])) + 1;
  return size;
}

struct Plan {
  uint64_t symbols_at, names_at, section_names_at, frames_at, end;
  uint64_t names_bytes, frames_bytes;
  const uint8_t* frames_start;
};

Plan plan_for(const Image& image, const Layout& layout) {
  Plan plan;
  plan.frames_start = layout.unwind_frames;
  plan.frames_bytes = layout.unwind_frames_size;
  plan.names_bytes = names_size(image, layout);
  plan.symbols_at = sizeof(Elf64_Ehdr) + section_count * sizeof(Elf64_Shdr);
  plan.names_at = plan.symbols_at + (uint64_t{layout.count} + 1) * sizeof(Elf64_Sym);
  plan.section_names_at = plan.names_at + plan.names_bytes;
  plan.frames_at = align_up(plan.section_names_at + sizeof section_name_bytes, 8);
  plan.end = plan.frames_at + plan.frames_bytes;
  return plan;
}

void write_header(uint8_t* to) {
  auto* header = reinterpret_cast<Elf64_Ehdr*>(to);
  constexpr uint8_t ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  copy_bytes(header->e_ident, ident, sizeof ident);
  header->e_type = ET_REL;
  header->e_machine = EM_X86_64;
  header->e_version = EV_CURRENT;
  header->e_shoff = sizeof *header;
  header->e_ehsize = sizeof *header;
  header->e_shentsize = sizeof(Elf64_Shdr);
  header->e_shnum = section_count;
  header->e_shstrndx = section_names;
}

void write_sections(const Layout& layout, const Plan& plan, uint8_t* to) {
  auto* sections = reinterpret_cast<Elf64_Shdr*>(to + sizeof(Elf64_Ehdr));
  const auto code = reinterpret_cast<uint64_t>(layout.start);
  const auto frame_address = reinterpret_cast<uint64_t>(plan.frames_start);
  const uint64_t symbols_bytes = plan.names_at - plan.symbols_at;
  for (uint32_t i = 0; i < section_count; ++i) sections[i].sh_name = name_at[i];
  auto fill = [&](uint32_t i, uint32_t type, uint64_t flags, uint64_t address, uint64_t offset,
                  uint64_t size) {
    sections[i].sh_type = type;
    sections[i].sh_flags = flags;
    sections[i].sh_addr = address;
    sections[i].sh_offset = offset;
    sections[i].sh_size = size;
    sections[i].sh_addralign = 1;
  };
  fill(text, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, code, 0, layout.code_size);
  fill(frames, SHT_PROGBITS, SHF_ALLOC, frame_address, plan.frames_at, plan.frames_bytes);
  fill(symbols, SHT_SYMTAB, 0, 0, plan.symbols_at, symbols_bytes);
  fill(names, SHT_STRTAB, 0, 0, plan.names_at, plan.names_bytes);
  fill(section_names, SHT_STRTAB, 0, 0, plan.section_names_at, sizeof section_name_bytes);
  sections[symbols].sh_link = names;
  sections[symbols].sh_info = 1;
  sections[symbols].sh_entsize = sizeof(Elf64_Sym);
  sections[symbols].sh_addralign = 8;
}

// In a relocatable file, the value of a symbol is its offset from its section.
void write_symbols(const Image& image, const Layout& layout, const Plan& plan, uint8_t* to) {
  auto* symbol = reinterpret_cast<Elf64_Sym*>(to + plan.symbols_at) + 1;
  uint64_t name = 1;
  for (uint32_t rank = 0; rank < layout.count; ++rank, ++symbol) {
    const uint32_t f = layout.order[rank];
    const size_t length = length_of(image.name(f)) + 1;
    copy_bytes(to + plan.names_at + name, image.name(f), length);
    symbol->st_name = static_cast<uint32_t>(name);
    symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol->st_shndx = text;
    symbol->st_value = layout.offsets[f];
    symbol->st_size = image.functions()[f].size;
    name += length;
  }
}

uint64_t symbol_file_size(const Image& image, const Layout& layout) {
  return plan_for(image, layout).end;
}

void write_symbol_file(const Image& image, const Layout& layout, uint8_t* to) {
  const Plan plan = plan_for(image, layout);
  write_header(to);
  write_sections(layout, plan, to);
  write_symbols(image, layout, plan, to);
  copy_bytes(to + plan.section_names_at, section_name_bytes, sizeof section_name_bytes);
  copy_bytes(to + plan.frames_at, plan.frames_start, plan.frames_bytes);
}

}  // namespace

}  // namespace stab::rt

// These names are GDB's interface for code that is made at run time: GDB stops at this function and
// reads the list.
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
// The names are weak, because a program that makes code at run time defines its own.
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

// Other users may write to /tmp too, so the process writes only to a file that it has made itself.
// A file that an earlier process with this number left is removed.
long open_perf_map(const char* path) {
  if (map_owner == os::process_id()) return os::open_append(path);
  os::remove_file(path);
  const long fd = os::open_new(path);
  if (!os::failed(fd)) map_owner = os::process_id();
  return fd;
}

// Each line has the start and the size in hexadecimal, and the name.
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

// The entry and the symbol file behind it share one mapping.
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

// Looks for "TracerPid:\t0" in /proc/self/status. Without /proc, the process counts as not traced.
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
