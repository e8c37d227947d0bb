// SPDX-License-Identifier: MIT
// Replaces a plan's revisions by commits before the plan is stored. A branch moves on, but the
// experiment keeps the commits that it measures.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace stab::revisions {

// Returns the plan's text with a table [revisions] at its end, which has the commits that the text
// lacks. A text that is not a plan, or that names no revision, is returned as it is. It is an error
// if the repository of the plan's folder lacks a revision, or if a revision lacks that folder or a
// benchmark's sources.
Result<std::string> with_commits(const std::string& text, const std::string& directory);

// Names a level whose revision is not a commit yet: "'main' of factor.version"; "" if there is no
// such level.
std::string unresolved(const plan::Plan& plan);

}  // namespace stab::revisions
