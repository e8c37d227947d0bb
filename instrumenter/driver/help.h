// SPDX-License-Identifier: MIT
// What szc says of itself.
#pragma once

#include <string>

#include "instrumenter/driver/companions.h"

namespace stab::driver {

std::string help_text();

// The compilers that have a pass: by szc, and those that the user added.
std::string compilers_text(const Companions& companions, bool json);

// Our version and a fingerprint of each part: it changes when what szc produces may change, as a
// compiler cache wants to know (CCACHE_COMPILERCHECK="%compiler% --stab-version").
std::string version_text(const Companions& companions);

}  // namespace stab::driver
