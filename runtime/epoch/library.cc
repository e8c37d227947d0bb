// SPDX-License-Identifier: MIT
#include "runtime/epoch/library.h"

#include <elf.h>

#include "runtime/base/memory.h"
#include "runtime/epoch/contexts.h"

namespace stab::rt {
namespace {

// What a library asks of others if it keeps registers or makes stacks. None is longer than a Name.
struct Known {
  const char* name;
  uint32_t tells;
};

// What a library is known to do, as bits.
constexpr uint32_t keeps_registers = 1;
constexpr uint32_t makes_stacks = 2;
constexpr uint32_t is_unreadable = 4;
constexpr uint32_t makes_contexts = 8;
constexpr uint32_t sets_contexts = 16;
constexpr uint32_t gets_contexts = 32;
constexpr uint32_t handles_signals = 64;  // on stacks of its own
constexpr uint32_t is_unseen = 128;       // is not interposed

// First the interposed functions, in the order of Interposed; then those that are not.
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

uint32_t find_known(const Name& name) {
  uint32_t i = 0;
  while (i < known_count && !equal(known[i].name, name.text, length_of(known[i].name) + 1)) ++i;
  return i;
}

// What a library tells, and the symbols that must lead to our interposed functions.
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

// By what it asks of others, of so many symbols.
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

struct Relocations {
  const uint8_t* start = nullptr;
  uint64_t size = 0;
  uint64_t skipped = 0;  // entries that name no symbol, at the begin
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

// A slot of a call that was not made yet leads into the library.
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

// With RTLD_DEEPBIND the names that a library asks for are looked up elsewhere first.
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
  // Contexts that were not made, but found in a signal's frame.
  if ((told.bits & sets_contexts) != 0 && (told.bits & makes_contexts) == 0) return true;
  // A jump out of a signal's stack and back later is a change of stacks.
  if ((told.bits & keeps_registers) != 0 && (told.bits & handles_signals) != 0) return true;
  return late && told.count != 0 && !is_bound_to_us(library, told);
}

}  // namespace

// One that szc linked is no image before its first constructor, when its names may not be bound.
bool hides_addresses(const link_map& library, bool late) {
  abi::Header table = {};
  return find_table(library, table) ? (table.flags & abi::image_hides_addresses) != 0
                                    : hides(library, late);
}

bool uses_small_stacks(const link_map& library) {
  abi::Header table = {};
  if (find_table(library, table)) return (table.flags & abi::image_small_stacks) != 0;
  Told told;
  if (library.l_ld != nullptr) read_library(library, told);
  return (told.bits & makes_stacks) != 0;
}

void blame(Cause& cause, const link_map& library) {
  constexpr size_t longest_name = 128;
  char name[longest_name + 1];
  for (size_t i = 0; i <= longest_name; ++i)
    if (!fetch(library.l_name + i, name[i])) name[i] = '\0';
  name[longest_name] = '\0';
  cause.set(name[0] != '\0' ? name : "the program");
}

}  // namespace stab::rt
