// SPDX-License-Identifier: MIT
// An ELF file in memory that describes the copies of an image to a debugger: their names and how to
// unwind them.
#pragma once

#include <stdint.h>

#include "runtime/image/image.h"

namespace stab::rt {

uint64_t symbol_file_size(const Image& image, const Layout& layout);
void write_symbol_file(const Image& image, const Layout& layout, uint8_t* to);

}  // namespace stab::rt
