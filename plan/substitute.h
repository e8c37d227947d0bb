// SPDX-License-Identifier: MIT
// ${NAME} in the texts of a plan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// The text with each ${NAME} replaced, in one pass; names that are not in `variables` stay as they
// are. $$ is a $. What is not exactly ${NAME}, as in ${NAME:-x} or $NAME, belongs to the shell.
std::string substitute(std::string_view text, const Variables& variables);

// As substitute(), but $$ stays $$: the result is a template still, for a last
// substitute().
std::string fill(std::string_view text, const Variables& variables);

// The NAMEs of all ${NAME} in the text, in their order.
std::vector<std::string> names_in(std::string_view text);

}  // namespace stab::plan
