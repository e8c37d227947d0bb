// SPDX-License-Identifier: MIT
// The head of each page: its policy (P1 of page.h), its title and its style.
#pragma once

#include <string>

#include "report/drawing/markup.h"

namespace stab::report::html {

void add_head(Markup& markup, const std::string& title);

}  // namespace stab::report::html
