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

// The members with their names, without the index.
Result<void> for_each_member(
    std::string_view archive, const std::string& path,
    const std::function<void(std::string_view name, std::string_view content)>& take);

}  // namespace stab::driver
