// SPDX-License-Identifier: MIT
// What the driver adds to a compilation and to a link so that the post-link step and the runtime
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

// Executables. The exported names answer for moved code (exceptions), take in shared libraries, see
// what others keep of registers, and serve the libraries' blocks.
// The object goes after the program's own inputs.
inline constexpr std::array<std::string_view, 28> executable_link_flags = {
    "-Wl,--export-dynamic-symbol=_dl_find_object",
    "-Wl,--export-dynamic-symbol=stab_add_image",
    "-Wl,--export-dynamic-symbol=stab_remove_image",
    "-Wl,--export-dynamic-symbol=pthread_cancel",
    "-Wl,--export-dynamic-symbol=pthread_create",
    "-Wl,--export-dynamic-symbol=thrd_create",
    "-Wl,--export-dynamic-symbol=prctl",
    "-Wl,--export-dynamic-symbol=syscall",
    "-Wl,--export-dynamic-symbol=setjmp",
    "-Wl,--export-dynamic-symbol=_setjmp",
    "-Wl,--export-dynamic-symbol=__sigsetjmp",
    "-Wl,--export-dynamic-symbol=getcontext",
    "-Wl,--export-dynamic-symbol=makecontext",
    "-Wl,--export-dynamic-symbol=swapcontext",
    "-Wl,--export-dynamic-symbol=setcontext",
    "-Wl,--export-dynamic-symbol=malloc",
    "-Wl,--export-dynamic-symbol=calloc",
    "-Wl,--export-dynamic-symbol=realloc",
    "-Wl,--export-dynamic-symbol=reallocarray",
    "-Wl,--export-dynamic-symbol=free",
    "-Wl,--export-dynamic-symbol=memalign",
    "-Wl,--export-dynamic-symbol=aligned_alloc",
    "-Wl,--export-dynamic-symbol=posix_memalign",
    "-Wl,--export-dynamic-symbol=valloc",
    "-Wl,--export-dynamic-symbol=pvalloc",
    "-Wl,--export-dynamic-symbol=malloc_usable_size",
    "-Wl,--export-dynamic-symbol=_exit",
    "-Wl,--export-dynamic-symbol=_Exit"};
inline constexpr std::string_view executable_object = "stab-runtime.o";

// Shared libraries: an object that offers the library to the executable's runtime, if there is one.
inline constexpr std::string_view library_object = "stab-library.o";

// lld refuses these beside --emit-relocs: the driver keeps them back and asks the post-link step
// for the same.
inline constexpr std::array<std::string_view, 3> strip_all_flags = {"-s", "-Wl,-s",
                                                                    "-Wl,--strip-all"};
inline constexpr std::array<std::string_view, 2> strip_debug_flags = {"-Wl,-S",
                                                                      "-Wl,--strip-debug"};

}  // namespace stab::instrumenter
