// SPDX-License-Identifier: MIT
// Whether the stack of the linked program must be executable. GNU ld makes it executable if an
// object requests it in the flags of its section .note.GNU-stack, or has no such section. gcc's
// objects request it if the address of a nested function is taken. lld ignores both cases.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "instrumenter/driver/link_arguments.h"

namespace stab::driver {

// An object's wish. silent: it is not an object, or it has no sections.
enum class StackWish { none, executable, unknown, silent };
StackWish stack_wish(std::string_view object);

// The reason, as a phrase, why GNU ld would make the stack of this link executable, or "" if it
// would not, or if the user decided. In an archive only the linked members count. If any member
// matters, `list_linked` is called, which lists the linked members one per line, in the format of
// lld's --trace.
Result<std::string> why_executable_stack(const LinkArguments& link,
                                         const std::function<std::string()>& list_linked);

}  // namespace stab::driver
