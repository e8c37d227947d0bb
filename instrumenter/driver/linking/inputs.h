// SPDX-License-Identifier: MIT
// Reads and changes the inputs of a link: the members of static libraries, random gaps between
// sections, and the stack that objects ask for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/random.h"
#include "instrumenter/driver/link_arguments.h"

namespace stab::driver {

// Static libraries (ar), member by member:

bool is_archive(std::string_view content);

// Returns an ordinary archive with the same members in the same order, after passing each of them
// through `change`, which keeps their symbols. Members of a thin archive are read from their files;
// `path` is the archive's own path. If the archive has an index, so has the result, because GNU ld
// and gold need it. A damaged index is left out.
Result<std::string> change_members(std::string_view archive, const std::string& path,
                                   const std::function<std::string(std::string)>& change);

// Passes each member with its name to `take`, except the index.
Result<void> for_each_member(
    std::string_view archive, const std::string& path,
    const std::function<void(std::string_view name, std::string_view content)>& take);

// Random gaps between the sections of a link that keeps its order (the factor link_padding). lld
// has had a flag for this only since version 22, so the inputs are changed: some sections get a
// tail, and an object that consists of gaps comes first in the link. Inputs of bitcode, which have
// no sections yet, need lld's flag.
//
// One in 16 sections with code or data gets a tail of its alignment. The first bytes of .text,
// .rodata, .data.rel.ro and .data are a gap of up to 4096 bytes. Equal seeds and inputs give equal
// gaps. Tails hold traps in code and zeros in data; nothing refers to them. Sections that linkers
// merge or that programs walk through (.init_array, names that are C identifiers, thread-local
// ones) are left alone.

// Returns the object file with tails. A file that is not an x86-64 ELF object (LTO bitcode, a
// script) stays as it is.
std::string pad_object(std::string object, Random& random);

// Whether an input, or a member of one, is bitcode. Its code is made when linking, after inputs
// have been padded. Members that are not linked count, too.
bool has_bitcode(const LinkArguments& link);

// Returns the words of the link, with padded copies, made in `folder`, instead of its objects and
// static libraries.
Result<Words> pad_inputs(const LinkArguments& link, std::uint64_t seed, const std::string& folder);

// Returns the file of this input word, or "" if the linker would find a shared library first.
// (After -Bstatic lld reads the .a, but this function doesn't know that, and returns "" for such a
// library, too.)
std::string file_of_input(const LinkArguments& link, std::size_t input);

// An object file of nothing but gaps, which a link takes first: sections .text, .rodata,
// .data.rel.ro and .data of 1 to 4096 bytes each, drawn from `random`.
std::string gap_object(Random& random);

// Whether the stack of the linked program must be executable. GNU ld makes it executable if an
// object requests it in the flags of its section .note.GNU-stack, or has no such section. gcc's
// objects request it if the address of a nested function is taken. lld ignores both cases.

// An object's wish. silent: it is not an object, or it has no sections.
enum class StackWish { none, executable, unknown, silent };
StackWish stack_wish(std::string_view object);

// The reason, as a phrase, why GNU ld would make the stack of this link executable, or "" if it
// would not, or if the user decided. In an archive only the linked members count. If any member
// matters, `list_linked` is called, which lists the linked members one per line, in the format of
// lld's --trace. Fails only if `list_linked` fails.
using ListLinked = std::function<Result<std::string>()>;
Result<std::string> why_executable_stack(const LinkArguments& link, const ListLinked& list_linked);

}  // namespace stab::driver
