// SPDX-License-Identifier: MIT
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
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "instrumenter/driver/link_arguments.h"

namespace stab::driver {

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

}  // namespace stab::driver
