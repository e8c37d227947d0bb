// SPDX-License-Identifier: MIT
// Names that every trial or export has already. Tests of both hold the list to be complete.
#pragma once

#include <string_view>

namespace stab::plan {

bool is_own_name(std::string_view name);

}  // namespace stab::plan
