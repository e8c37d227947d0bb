// SPDX-License-Identifier: MIT
#include "runtime/libraries.h"

#include <elf.h>
#include <link.h>

#include "runtime/causes.h"
#include "runtime/images.h"
#include "runtime/memory.h"
#include "runtime/os.h"

// link.h has it, but not that a static program has none.
extern const Elf64_Dyn own_dynamic[] __asm__("_DYNAMIC")
    __attribute__((weak, visibility("hidden")));

namespace stab::rt {
namespace {

// What a library asks of others if it keeps registers or makes stacks. None is longer than a Name.
constexpr const char* names_for_registers[] = {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"};
constexpr const char* names_for_stacks[] = {"makecontext",   "swapcontext",   "setcontext",
                                            "make_fcontext", "jump_fcontext", "ontop_fcontext"};

// What a library is known to do, as bits.
constexpr uint32_t keeps_registers = 1;
constexpr uint32_t makes_stacks = 2;
constexpr uint32_t is_unreadable = 4;
struct Name {
  char text[16];
};

constexpr uint32_t most_libraries = 4096;
constexpr uint32_t batch = 32;

const r_debug* loader;
uint64_t fingerprint;  // of the list when it was looked at
bool hidden;

// What may be unmapped at any moment is read by the kernel.
template <class T>
__attribute__((always_inline)) inline bool fetch(const void* from, T& to) {
  const os::Piece piece = {const_cast<void*>(from), sizeof to};
  return os::copy_own_memory(&to, sizeof to, &piece, 1);
}

struct Symbols {
  const uint8_t* table = nullptr;
  const uint8_t* names = nullptr;
  const uint8_t* gnu_hash = nullptr;
  const uint8_t* hash = nullptr;
};

// The loader has made the addresses absolute, except in what it can't write to.
const uint8_t* absolute(const link_map& library, uint64_t value) {
  return reinterpret_cast<const uint8_t*>(value < library.l_addr ? value + library.l_addr : value);
}

bool find_symbols(const link_map& library, Symbols& symbols) {
  Elf64_Dyn entry = {};
  for (const Elf64_Dyn* at = library.l_ld;; ++at) {
    if (!fetch(at, entry)) return false;
    if (entry.d_tag == DT_NULL) return true;
    const uint8_t* place = absolute(library, entry.d_un.d_ptr);
    if (entry.d_tag == DT_SYMTAB) symbols.table = place;
    if (entry.d_tag == DT_STRTAB) symbols.names = place;
    if (entry.d_tag == DT_GNU_HASH) symbols.gnu_hash = place;
    if (entry.d_tag == DT_HASH) symbols.hash = place;
  }
}

// Those that are asked of others come first where there is a GNU hash table, which lists the rest.
bool count_symbols(const Symbols& symbols, uint32_t& count) {
  constexpr uint64_t first_listed = 4;
  constexpr uint64_t chains = 4;
  if (symbols.gnu_hash != nullptr) return fetch(symbols.gnu_hash + first_listed, count);
  return symbols.hash != nullptr && fetch(symbols.hash + chains, count);
}

template <size_t count>
bool is_one_of(const char* const (&names)[count], const Name& name) {
  for (const char* one : names)
    if (equal(one, name.text, length_of(one) + 1)) return true;
  return false;
}

uint32_t told_by(const Name& name) {
  if (is_one_of(names_for_registers, name)) return keeps_registers;
  return is_one_of(names_for_stacks, name) ? makes_stacks : 0;
}

// By what it asks of others, of so many symbols.
uint32_t told_by(const Symbols& symbols, uint32_t first, uint32_t count) {
  Elf64_Sym entries[batch];
  Name names[batch];
  const os::Piece table = {const_cast<uint8_t*>(symbols.table) + first * sizeof(Elf64_Sym),
                           count * sizeof(Elf64_Sym)};
  if (!os::copy_own_memory(entries, count * sizeof(Elf64_Sym), &table, 1)) return is_unreadable;
  os::Piece pieces[batch];
  uint32_t asked = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (entries[i].st_shndx == SHN_UNDEF && entries[i].st_name != 0)
      pieces[asked++] = {const_cast<uint8_t*>(symbols.names) + entries[i].st_name, sizeof(Name)};
  if (asked == 0) return 0;
  if (!os::copy_own_memory(names, asked * sizeof(Name), pieces, asked)) return is_unreadable;
  uint32_t told = 0;
  for (uint32_t i = 0; i < asked; ++i) told |= told_by(names[i]);
  return told;
}

uint32_t told_by(const link_map& library) {
  Symbols symbols;
  uint32_t count = 0;
  if (!find_symbols(library, symbols)) return is_unreadable;
  if (symbols.table == nullptr || symbols.names == nullptr) return 0;
  if (!count_symbols(symbols, count)) return is_unreadable;
  uint32_t told = 0;
  for (uint32_t first = 0; first < count; first += batch)
    told |= told_by(symbols, first, count - first < batch ? count - first : batch);
  return told;
}

void blame(Cause& cause, const link_map& library) {
  constexpr size_t longest_name = 128;
  char name[longest_name + 1];
  for (size_t i = 0; i <= longest_name; ++i)
    if (!fetch(library.l_name + i, name[i])) name[i] = '\0';
  name[longest_name] = '\0';
  cause.set(name[0] != '\0' ? name : "the program");
}

// The table of a library that szc linked lies at the begin of a segment, and says it.
bool find_table(const link_map& library, abi::Header& table) {
  constexpr uint16_t most_segments = 64;
  Elf64_Ehdr header = {};
  const auto* start = reinterpret_cast<const uint8_t*>(library.l_addr);
  if (start == nullptr || !fetch(start, header) ||
      !equal(ELFMAG, reinterpret_cast<const char*>(header.e_ident), SELFMAG))
    return false;
  for (uint16_t i = 0; i < header.e_phnum && i < most_segments; ++i) {
    Elf64_Phdr segment = {};
    if (!fetch(start + header.e_phoff + i * sizeof segment, segment)) return false;
    if (segment.p_type == PT_LOAD && fetch(start + segment.p_vaddr, table) &&
        table.magic == abi::magic && table.version == abi::version)
      return true;
  }
  return false;
}

bool uses_small_stacks(const link_map& library) {
  abi::Header table = {};
  if (find_table(library, table)) return (table.flags & abi::image_small_stacks) != 0;
  return library.l_ld != nullptr && (told_by(library) & makes_stacks) != 0;
}

struct Search {
  uint64_t address = 0;
  bool found = false;
};

void find_image(Image& image, void* context) {
  auto* search = static_cast<Search*>(context);
  search->found |=
      search->address - reinterpret_cast<uint64_t>(image.base) < image.table->image_size;
}

// Images tell for themselves.
bool is_image(const link_map& library) {
  Search search = {reinterpret_cast<uint64_t>(library.l_ld), false};
  for_each_image(find_image, &search);
  return search.found;
}

// One after the other, from the list's begin; false: there is no other, or it can't be read, and
// then `readable` is false.
struct List {
  const link_map* next = loader->r_map;
  uint32_t count = 0;
  bool readable = true;
};

bool read_next(List& list, link_map& library) {
  if (list.next == nullptr) return false;
  list.readable = list.count++ < most_libraries && fetch(list.next, library);
  list.next = library.l_next;
  return list.readable;
}

bool find_fingerprint(uint64_t& sum) {
  List list;
  link_map library = {};
  sum = 1;
  while (read_next(list, library))
    sum = (sum ^ reinterpret_cast<uint64_t>(library.l_ld)) * 0x9e3779b97f4a7c15u + library.l_addr;
  return list.readable;
}

bool any_hides() {
  List list;
  link_map library = {};
  while (read_next(list, library)) {
    if (library.l_ld == nullptr || is_image(library) || told_by(library) == 0) continue;
    blame(layouts_stay_for, library);
    return true;
  }
  return !list.readable;
}

}  // namespace

void prepare_libraries() {
  if (own_dynamic == nullptr) return;
  for (const Elf64_Dyn* at = own_dynamic; at->d_tag != DT_NULL; ++at)
    if (at->d_tag == DT_DEBUG) loader = reinterpret_cast<const r_debug*>(at->d_un.d_ptr);
}

bool libraries_make_stacks() {
  if (loader == nullptr) return false;
  List list;
  link_map library = {};
  // The first is the program, whose own table is read anyway.
  read_next(list, library);
  while (read_next(list, library)) {
    if (!uses_small_stacks(library)) continue;
    blame(pads_small_for, library);
    return true;
  }
  return false;
}

Libraries look_at_libraries() {
  if (loader == nullptr) return Libraries::harmless;
  if (hidden) return Libraries::hide_addresses;
  if (__atomic_load_n(&loader->r_state, __ATOMIC_ACQUIRE) != r_debug::RT_CONSISTENT)
    return Libraries::changing;
  uint64_t now = 0;
  bool hides = !find_fingerprint(now);
  if (!hides && now == fingerprint) return Libraries::harmless;
  hides = hides || any_hides();
  if (__atomic_load_n(&loader->r_state, __ATOMIC_ACQUIRE) != r_debug::RT_CONSISTENT)
    return Libraries::changing;
  fingerprint = now;
  hidden = hides;
  return hidden ? Libraries::hide_addresses : Libraries::harmless;
}

}  // namespace stab::rt
