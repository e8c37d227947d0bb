// SPDX-License-Identifier: MIT
// Rewrites static libraries (ar), member by member.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::driver {

bool is_archive(std::string_view content);

// Returns an ordinary archive with the same members in the same order, after passing each of them
// through `change`. Members of a thin archive are read from their files; `path` is the archive's
// own path. The index is left out, because lld does not need it.
Result<std::string> change_members(std::string_view archive, const std::string& path,
                                   const std::function<std::string(std::string)>& change);

// Passes each member with its name to `take`, except the index.
Result<void> for_each_member(
    std::string_view archive, const std::string& path,
    const std::function<void(std::string_view name, std::string_view content)>& take);

}  // namespace stab::driver
