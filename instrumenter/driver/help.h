// SPDX-License-Identifier: MIT
// What szc says of itself.
#pragma once

#include <string>

#include "instrumenter/driver/companions.h"

namespace stab::driver {

std::string help_text();

// Our version and a fingerprint of each part: it changes when what szc produces may change, as a
// compiler cache wants to know (CCACHE_COMPILERCHECK="%compiler% --stab-version").
std::string version_text(const Companions& companions);

}  // namespace stab::driver
