// SPDX-License-Identifier: MIT
#include "runtime/epoch/libraries.h"

#include <elf.h>
#include <link.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/epoch/causes.h"
#include "runtime/epoch/contexts.h"
#include "runtime/epoch/library.h"
#include "runtime/image/images.h"

// link.h has it, but not that a static program has none.
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

void mix(uint64_t& sum, uint64_t word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
}

// Another library may have come to where one was. Up to the end of the page, which is there.
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

// The library that begins before this address, and next to it.
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
