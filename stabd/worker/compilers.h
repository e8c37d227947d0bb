// SPDX-License-Identifier: MIT
// Which compilers and linkers made a program: what they say of themselves in its .comment.
#pragma once

#include <string>

namespace stab::worker {

// "Debian LLD 19.1.7, Debian clang version 19.1.7"; "" of what is no such file or says nothing. Fit
// for a terminal, whatever the file holds.
std::string compilers_of(const std::string& path);

}  // namespace stab::worker
