// SPDX-License-Identifier: MIT
// The note that tells where the table is. Every executable and shared library that szc links holds
// one.
#pragma once

#include "runtime/abi/abi.h"

// The unusual alignment makes the linker give this note a program header of its own, which becomes
// the table's.
extern "C" __attribute__((section(".note.stab"), aligned(16), visibility("hidden")))
const stab::abi::Note stab_note;
