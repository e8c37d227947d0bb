// SPDX-License-Identifier: MIT
// Revisions that a plan names become commits before it is stored: a branch goes on, what was
// measured stays.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace stab::revisions {

// The plan's text, with a table [revisions] behind it of the commits that are not in it yet. A text
// that is no plan, or names no revision, stays as it is. An error if a revision is none of the
// repository in which the plan's folder lies, or lacks that folder or a benchmark's sources.
Result<std::string> with_commits(const std::string& text, const std::string& directory);

// Which level nobody has resolved: "'main' of factor.version"; "": there is none.
std::string unresolved(const plan::Plan& plan);

}  // namespace stab::revisions
