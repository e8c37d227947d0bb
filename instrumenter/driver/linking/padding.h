// SPDX-License-Identifier: MIT
// Random gaps between the sections of a link that keeps its order (the factor link_padding). lld has a
// flag for it only from 22 on, so the inputs are changed: some sections get a tail, and an object of gaps
// goes first in the link. Inputs of bitcode, which are not sections yet, need lld's flag.
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

// The object file with tails, or as it is if it is no x86-64 ELF object (LTO bitcode, a script).
std::string pad_object(std::string object, Random& random);

// Whether an input, or a member of one, is bitcode: its code is made when linking, after any padding of
// inputs. Members that are not linked count, too.
bool has_bitcode(const LinkArguments& link);

// The words of the link with padded copies, made in `folder`, in the place of its objects and
// static libraries.
Result<Words> pad_inputs(const LinkArguments& link, std::uint64_t seed, const std::string& folder);

// The file of this input word. "": a library that is found as a shared one first. (After -Bstatic lld
// reads the .a; that library then counts as shared, too.)
std::string file_of_input(const LinkArguments& link, std::size_t input);

// An object file of nothing but gaps, which a link takes first.

// Sections .text, .rodata, .data.rel.ro and .data of 1 to 4096 bytes each, drawn from `random`.
std::string gap_object(Random& random);

}  // namespace stab::driver
