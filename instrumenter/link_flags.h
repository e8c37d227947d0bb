// SPDX-License-Identifier: MIT
// The flags that the driver adds to a compilation and to a link so that the post-link step and the runtime
// can do their work. DIR/ stands for the folder of our libraries (build/lib, or lib/stabd when
// installed).
#pragma once

#include <array>
#include <string_view>

namespace stab::instrumenter {

// Every compilation. Functions in sections of their own have relocations for all that lies outside
// of them; the alignment leaves room for the jump at the entry.
inline constexpr std::array<std::string_view, 3> compile_flags = {
    "-ffunction-sections", "-falign-functions=16", "-fasynchronous-unwind-tables"};

// Every link that we instrument, executable or shared library.
inline constexpr std::array<std::string_view, 2> link_flags = {"-fuse-ld=lld", "-Wl,--emit-relocs"};

// Executables export these names of the runtime (interposed.inc says why each).
// The object goes after the program's own inputs.
#define STAB_EXPORT(name) "-Wl,--export-dynamic-symbol=" name,
#define STAB_NAME_libc(name) STAB_EXPORT(name)
#define STAB_NAME_heap(name) STAB_EXPORT(name)
#define STAB_NAME_ours(name) STAB_EXPORT(name)
#define STAB_NAME_executable(name)
#define STAB_NAME_found(name)
#define STAB_NAME_preload(name)
#define STAB_NAME(kind, name, why) STAB_NAME_##kind(name)
inline constexpr auto executable_link_flags = std::to_array<std::string_view>({
#include "runtime/abi/interposed.inc"
});
#undef STAB_NAME
#undef STAB_NAME_preload
#undef STAB_NAME_found
#undef STAB_NAME_executable
#undef STAB_NAME_ours
#undef STAB_NAME_heap
#undef STAB_NAME_libc
#undef STAB_EXPORT
inline constexpr std::string_view executable_object = "stab-runtime.o";

// Shared libraries: an object that offers the library to the executable's runtime, if there is one.
inline constexpr std::string_view library_object = "stab-library.o";

}  // namespace stab::instrumenter
