// SPDX-License-Identifier: MIT
// ${NAME} in the texts of a plan.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// Returns the text with each ${NAME} replaced, in one pass; names that are not in `variables` stay
// as they are. $$ becomes $. Anything that is not exactly ${NAME}, such as ${NAME:-x} or $NAME,
// belongs to the shell.
std::string substitute(std::string_view text, const Variables& variables);

// Like substitute(), but $$ stays $$: the result is still a template, to which substitute() is
// applied at the end.
std::string fill(std::string_view text, const Variables& variables);

// The NAMEs of all ${NAME} in the text, in order of appearance.
std::vector<std::string> names_in(std::string_view text);

// The NAMEs whose values may differ between trials: what a factor sets, what a build makes, and
// variables that mention that.
std::set<std::string> changing_names(const Variables& variables,
                                     const std::vector<const Factor*>& factors);

}  // namespace stab::plan
