// SPDX-License-Identifier: MIT
// Whether the stack of what is linked must be executable. GNU ld makes it so where an object asks
// for it in the flags of its section .note.GNU-stack, as those of gcc do whose nested functions have
// their address taken, and where an object has no such section. lld ignores both.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "instrumenter/driver/link_arguments.h"

namespace stab::driver {

// What an object says. silent: it is no object, or has no sections.
enum class StackWish { none, executable, unknown, silent };
StackWish stack_wish(std::string_view object);

// Why GNU ld would make the stack of this link executable, as a phrase; "" if it would not, or the
// user decided. Of an archive only those members count that are linked: `list_linked` is asked for
// them, one a line as lld's --trace has them, if any member matters.
Result<std::string> why_executable_stack(const LinkArguments& link,
                                         const std::function<std::string()>& list_linked);

}  // namespace stab::driver
