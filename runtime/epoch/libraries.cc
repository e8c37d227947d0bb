// SPDX-License-Identifier: MIT
#include "runtime/epoch/libraries.h"

#include <elf.h>
#include <link.h>

#include "runtime/abi/validate.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/epoch/contexts.h"
#include "runtime/image/image.h"

namespace stab::rt {

constinit Cause layouts_stay_for{};
constinit Cause pads_small_for{};

void Cause::set(const char* name) {
  if (text_[0] != '\0') return;
  const size_t length = length_of(name);
  copy_bytes(text_, name, length < longest ? length : longest - 1);
}

namespace {

const char* name_of(const abi::Header& table, const abi::Hider& hider) {
  return hider.name < table.names.count ? elements<char>(table, table.names) + hider.name : nullptr;
}

}  // namespace

const char* first_hider(const abi::Header& table) {
  if (table.hiders.count == 0) return nullptr;
  return name_of(table, *elements<abi::Hider>(table, table.hiders));
}

const char* first_with_stacks(const abi::Header& table) {
  const auto* hiders = elements<abi::Hider>(table, table.hiders);
  for (uint32_t i = 0; i < table.hiders.count; ++i) {
    const auto reason = static_cast<abi::HideReason>(hiders[i].reason);
    if (reason == abi::HideReason::switches_stacks || reason == abi::HideReason::makes_stacks)
      return name_of(table, hiders[i]);
  }
  return nullptr;
}

namespace {

// A library may be unmapped at any moment, so the kernel copies its memory for us, and memory that
// can't be read counts as dangerous. If szc linked the library, the library's table tells what it
// does. Otherwise its undefined symbols do.

template <class T>
__attribute__((always_inline)) inline bool fetch(const void* from, T& to) {
  const os::Piece piece = {const_cast<void*>(from), sizeof to};
  return os::copy_own_memory(&to, sizeof to, &piece, 1);
}

// The functions that a library calls if it keeps registers or makes stacks. No name is longer than
// a Name.
struct Known {
  const char* name;
  uint32_t tells;
};

// The bits say what a library is known to do.
constexpr uint32_t keeps_registers = 1;
constexpr uint32_t makes_stacks = 2;
constexpr uint32_t is_unreadable = 4;
constexpr uint32_t makes_contexts = 8;
constexpr uint32_t sets_contexts = 16;
constexpr uint32_t gets_contexts = 32;
constexpr uint32_t handles_signals = 64;  // handles signals on its own stacks
constexpr uint32_t is_unseen = 128;       // is not interposed

// The interposed functions come first, in the order of Interposed, and then functions that are not
// interposed.
constexpr Known known[] = {{"setjmp", keeps_registers},
                           {"_setjmp", keeps_registers},
                           {"__sigsetjmp", keeps_registers},
                           {"getcontext", gets_contexts},
                           {"makecontext", makes_stacks | makes_contexts},
                           {"swapcontext", makes_stacks | makes_contexts},
                           {"setcontext", makes_stacks | sets_contexts},
                           {"sigsetjmp", keeps_registers | is_unseen},
                           {"make_fcontext", makes_stacks | is_unseen},
                           {"jump_fcontext", makes_stacks | is_unseen},
                           {"ontop_fcontext", makes_stacks | is_unseen},
                           {"sigaltstack", handles_signals}};
constexpr uint32_t known_count = sizeof known / sizeof *known;
constexpr uint32_t interposed_count = static_cast<uint32_t>(Interposed::count);

struct Name {
  char text[16];
};

constexpr uint32_t batch = 32;

struct Symbols {
  const uint8_t* table = nullptr;
  const uint8_t* names = nullptr;
  const uint8_t* gnu_hash = nullptr;
  const uint8_t* hash = nullptr;
};

// The loader has made the addresses absolute, except in memory that it can't write to.
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

// With a GNU hash table, undefined symbols come first, because the table lists only the other
// symbols.
bool count_symbols(const Symbols& symbols, uint32_t& count) {
  constexpr uint64_t first_listed = 4;
  constexpr uint64_t chains = 4;
  if (symbols.gnu_hash != nullptr) return fetch(symbols.gnu_hash + first_listed, count);
  return symbols.hash != nullptr && fetch(symbols.hash + chains, count);
}

uint32_t find_known(const Name& name) {
  uint32_t i = 0;
  while (i < known_count && !equal(known[i].name, name.text, length_of(known[i].name) + 1)) ++i;
  return i;
}

// The bits of a library, and its symbols that must lead to our interposed functions.
struct Told {
  static constexpr uint32_t most = 16;
  uint32_t bits = 0;
  uint32_t count = 0;
  uint32_t symbols[most];
  uint32_t names[most];
};

void add(Told& told, uint32_t symbol, const Name& name) {
  const uint32_t which = find_known(name);
  if (which == known_count) return;
  told.bits |= known[which].tells;
  if (which >= interposed_count) return;
  if (entry_of(static_cast<Interposed>(which)) == 0 || told.count == Told::most)
    told.bits |= is_unseen;
  else {
    told.symbols[told.count] = symbol;
    told.names[told.count++] = which;
  }
}

// Reads `count` symbols from `first` on, and notes which of the names above are undefined there.
void read_symbols(const Symbols& symbols, uint32_t first, uint32_t count, Told& told) {
  Elf64_Sym entries[batch];
  Name names[batch];
  uint32_t numbers[batch];
  const os::Piece table = {const_cast<uint8_t*>(symbols.table) + first * sizeof(Elf64_Sym),
                           count * sizeof(Elf64_Sym)};
  os::Piece pieces[batch];
  uint32_t asked = 0;
  if (!os::copy_own_memory(entries, count * sizeof(Elf64_Sym), &table, 1)) {
    told.bits |= is_unreadable;
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (entries[i].st_shndx != SHN_UNDEF || entries[i].st_name == 0) continue;
    numbers[asked] = first + i;
    pieces[asked++] = {const_cast<uint8_t*>(symbols.names) + entries[i].st_name, sizeof(Name)};
  }
  if (asked == 0) return;
  if (!os::copy_own_memory(names, asked * sizeof(Name), pieces, asked))
    told.bits |= is_unreadable;
  else
    for (uint32_t i = 0; i < asked; ++i) add(told, numbers[i], names[i]);
}

void read_library(const link_map& library, Told& told) {
  Symbols symbols;
  uint32_t count = 0;
  if (!find_symbols(library, symbols)) told.bits |= is_unreadable;
  if (told.bits != 0 || symbols.table == nullptr || symbols.names == nullptr) return;
  if (!count_symbols(symbols, count)) told.bits |= is_unreadable;
  for (uint32_t first = 0; first < count; first += batch)
    read_symbols(symbols, first, count - first < batch ? count - first : batch, told);
}

// The table of a library that szc linked lies at the beginning of a segment, and starts with its
// magic number.
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

struct Relocations {
  const uint8_t* start = nullptr;
  uint64_t size = 0;
  uint64_t skipped = 0;  // entries at the beginning, which name no symbol
};

bool find_relocations(const link_map& library, Relocations& own, Relocations& calls) {
  Elf64_Dyn entry = {};
  for (const Elf64_Dyn* at = library.l_ld;; ++at) {
    if (!fetch(at, entry)) return false;
    if (entry.d_tag == DT_NULL) return true;
    const uint8_t* place = absolute(library, entry.d_un.d_ptr);
    if (entry.d_tag == DT_RELA) own.start = place;
    if (entry.d_tag == DT_RELASZ) own.size = entry.d_un.d_val;
    if (entry.d_tag == DT_RELACOUNT) own.skipped = entry.d_un.d_val;
    if (entry.d_tag == DT_JMPREL) calls.start = place;
    if (entry.d_tag == DT_PLTRELSZ) calls.size = entry.d_un.d_val;
  }
}

// Until a call is made for the first time, its slot leads into the library itself.
bool leads_to_us(const link_map& library, const Elf64_Rela& relocation, const Told& told) {
  for (uint32_t i = 0; i < told.count; ++i) {
    if (told.symbols[i] != ELF64_R_SYM(relocation.r_info)) continue;
    uint64_t value = 0;
    return fetch(reinterpret_cast<const void*>(library.l_addr + relocation.r_offset), value) &&
           value == entry_of(static_cast<Interposed>(told.names[i])) +
                        static_cast<uint64_t>(relocation.r_addend);
  }
  return true;
}

bool lead_to_us(const link_map& library, const Relocations& list, const Told& told) {
  Elf64_Rela relocations[batch];
  const uint64_t count = list.size / sizeof(Elf64_Rela);
  for (uint64_t first = list.skipped; first < count; first += batch) {
    const uint64_t some = count - first < batch ? count - first : batch;
    const os::Piece piece = {const_cast<uint8_t*>(list.start) + first * sizeof(Elf64_Rela),
                             some * sizeof(Elf64_Rela)};
    if (!os::copy_own_memory(relocations, piece.size, &piece, 1)) return false;
    for (uint64_t i = 0; i < some; ++i)
      if (!leads_to_us(library, relocations[i], told)) return false;
  }
  return true;
}

// With RTLD_DEEPBIND, the loader looks up a library's symbols elsewhere first.
bool is_bound_to_us(const link_map& library, const Told& told) {
  Relocations own;
  Relocations calls;
  return find_relocations(library, own, calls) && lead_to_us(library, own, told) &&
         lead_to_us(library, calls, told);
}

bool hides(const link_map& library, bool late) {
  Told told;
  read_library(library, told);
  if ((told.bits & (makes_contexts | sets_contexts)) != 0) expect_contexts();
  if ((told.bits & (is_unreadable | keeps_registers | makes_stacks)) == 0) return false;
  if ((told.bits & (is_unreadable | is_unseen)) != 0) return true;
  // The library changes to contexts that it found in a signal's frame instead of making them.
  if ((told.bits & sets_contexts) != 0 && (told.bits & makes_contexts) == 0) return true;
  // A jump out of a signal's stack and back later also changes stacks.
  if ((told.bits & keeps_registers) != 0 && (told.bits & handles_signals) != 0) return true;
  return late && told.count != 0 && !is_bound_to_us(library, told);
}

// Whether the library keeps addresses of code where the runtime can't find them (libraries.h). A
// library that szc linked becomes an image in its first constructor, and its symbols may not be
// bound before. `late` means that the library was not loaded at the start, when every symbol is
// looked up in the program first. If the library uses contexts, contexts.h is told to expect them.
bool hides_addresses(const link_map& library, bool late) {
  abi::Header table = {};
  return find_table(library, table) ? (table.flags & abi::image_hides_addresses) != 0
                                    : hides(library, late);
}

// Whether the library makes stacks, or says in its table that it runs on small stacks.
bool uses_small_stacks(const link_map& library) {
  abi::Header table = {};
  if (find_table(library, table)) return (table.flags & abi::image_small_stacks) != 0;
  Told told;
  if (library.l_ld != nullptr) read_library(library, told);
  return (told.bits & makes_stacks) != 0;
}

// Sets the cause to the name of this library.
void blame(Cause& cause, const link_map& library) {
  constexpr size_t longest_name = 128;
  char name[longest_name + 1];
  for (size_t i = 0; i <= longest_name; ++i)
    if (!fetch(library.l_name + i, name[i])) name[i] = '\0';
  name[longest_name] = '\0';
  cause.set(name[0] != '\0' ? name : "the program");
}

}  // namespace

}  // namespace stab::rt

// link.h declares _DYNAMIC, but not as weak; a static program doesn't have it.
extern const Elf64_Dyn own_dynamic[] __asm__("_DYNAMIC")
    __attribute__((weak, visibility("hidden")));

namespace stab::rt {
namespace {

constexpr uint32_t most_libraries = 4096;

const r_debug* loader;
uint64_t fingerprint;  // of the list when it was looked at
bool hidden;
const Elf64_Dyn* last_at_start;  // the dynamic section of the last one in the list

struct Search {
  uint64_t address = 0;
  bool found = false;
};

void find_image(Image& image, void* context) {
  auto* search = static_cast<Search*>(context);
  search->found |=
      search->address - reinterpret_cast<uint64_t>(image.base) < image.table->image_size;
}

// The table of an image says what the image does.
bool is_image(const link_map& library) {
  Search search = {reinterpret_cast<uint64_t>(library.l_ld), false};
  for_each_image(find_image, &search);
  return search.found;
}

// Reads the next library of the list. Returns false at the end of the list, or if the library can't
// be read; `readable` is false then.
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

void mix(uint64_t& sum, uint64_t word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
}

// Mixes in the name, because another library may be loaded at the same place. It reads up to the
// end of the page, which is mapped.
void mix_name(uint64_t& sum, const char* name) {
  constexpr uint64_t most = 256;
  char text[most];
  const uint64_t rest = os::page_size - reinterpret_cast<uint64_t>(name) % os::page_size;
  const os::Piece piece = {const_cast<char*>(name), rest < most ? rest : most};
  if (!os::copy_own_memory(text, piece.size, &piece, 1)) return;
  for (uint64_t i = 0; i < piece.size && text[i] != '\0'; ++i)
    mix(sum, static_cast<uint8_t>(text[i]));
}

bool find_fingerprint(uint64_t& sum) {
  List list;
  link_map library = {};
  sum = 1;
  while (read_next(list, library)) {
    mix(sum, reinterpret_cast<uint64_t>(library.l_ld));
    mix(sum, library.l_addr);
    mix_name(sum, library.l_name);
  }
  return list.readable;
}

bool any_hides() {
  List list;
  link_map library = {};
  bool late = last_at_start == nullptr;
  while (read_next(list, library)) {
    if (library.l_ld == nullptr) continue;
    if (!is_image(library) && hides_addresses(library, late)) {
      blame(layouts_stay_for, library);
      return true;
    }
    late |= library.l_ld == last_at_start;
  }
  return !list.readable;
}

// Finds the last library that begins before this address.
void blame_owner(uint64_t address) {
  List list;
  link_map library = {};
  link_map owner = {};
  while (read_next(list, library))
    if (library.l_addr <= address && library.l_addr >= owner.l_addr) owner = library;
  if (owner.l_ld != nullptr) blame(layouts_stay_for, owner);
}

}  // namespace

void prepare_libraries() {
  if (own_dynamic == nullptr) return;
  for (const Elf64_Dyn* at = own_dynamic; at->d_tag != DT_NULL; ++at)
    if (at->d_tag == DT_DEBUG) loader = reinterpret_cast<const r_debug*>(at->d_un.d_ptr);
  if (loader == nullptr) return;
  List list;
  link_map library = {};
  while (read_next(list, library)) last_at_start = library.l_ld;
}

bool libraries_make_stacks() {
  if (loader == nullptr) return false;
  List list;
  link_map library = {};
  // The first entry is the program, whose table is read anyway.
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
  if (first_maker() != 0 && !hidden) {
    hidden = true;
    blame_owner(first_maker());
  }
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

void name_holder() {
  if (loader != nullptr && first_holder() != 0) blame_owner(first_holder());
}

}  // namespace stab::rt
