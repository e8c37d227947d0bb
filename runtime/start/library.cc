// SPDX-License-Identifier: MIT
// Linked into each shared library: offers the library to the executable's runtime before its other
// constructors run, and takes it back after its last destructor. If szc did not link the program,
// nothing happens.
#include <elf.h>

#include "runtime/abi/abi.h"

#pragma clang section text = "stab_library"

extern "C" {
__attribute__((visibility("hidden"))) extern const Elf64_Ehdr __ehdr_start;
__attribute__((weak)) void stab_add_image(const stab::abi::Note* note, const Elf64_Ehdr* elf);
__attribute__((weak)) void stab_remove_image(const stab::abi::Note* note);

__attribute__((constructor(0), used)) static void stab_library_begin() {
  if (stab_add_image != nullptr) stab_add_image(&stab_note, &__ehdr_start);
}

__attribute__((destructor(0), used)) static void stab_library_end() {
  if (stab_remove_image != nullptr) stab_remove_image(&stab_note);
}
}
