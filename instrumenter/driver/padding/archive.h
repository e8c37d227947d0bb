// SPDX-License-Identifier: MIT
// Static libraries (ar): the members, rewritten one by one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::driver {

bool is_archive(std::string_view content);

// An ordinary archive with the same members in the same order, each passed through `change`.
// Members of a thin archive are read from their files; `path` is the archive's own. The index is
// left out: lld does without.
Result<std::string> change_members(std::string_view archive, const std::string& path,
                                   const std::function<std::string(std::string)>& change);

}  // namespace stab::driver
