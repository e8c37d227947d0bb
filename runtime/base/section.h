// SPDX-License-Identifier: MIT
// Included before every file of the runtime: its code lies on pages of its own, since those of the
// program are not executable for a moment while the runtime changes them.
#pragma once

#pragma clang section text = "stab_text"
