// SPDX-License-Identifier: MIT
// Names that every trial or export has already. The tests of trials and of exports check that the
// list is complete.
#pragma once

#include <string_view>

namespace stab::plan {

bool is_own_name(std::string_view name);

}  // namespace stab::plan
