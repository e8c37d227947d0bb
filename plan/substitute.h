// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace stab::plan {

// As substitute() in expand.h, but $$ stays $$: the result is a template still, for a last
// substitute().
std::string fill(std::string_view text, const Variables& variables);

}  // namespace stab::plan
