// SPDX-License-Identifier: MIT
// Included before every file of the runtime: its code lies on pages of its own, because the
// program's pages are briefly not executable while the runtime changes them.
#pragma once

#pragma clang section text = "stab_text"
