// SPDX-License-Identifier: MIT
#pragma once

#include "report/html/markup.h"

namespace stab::report::html {

// The page's only style sheet: light or dark as the reader has it, and light on paper.
Literal style();

}  // namespace stab::report::html
