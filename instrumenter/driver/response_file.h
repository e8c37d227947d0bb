// SPDX-License-Identifier: MIT
// "@file" arguments, read as clang and lld read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stab::driver {

using Words = std::vector<std::string>;

// Splits at white space. Quotes of both kinds group words, and a backslash escapes the next
// character.
Words split_response(std::string_view text);

// The text of a response file with these words. split_response, clang, gcc and lld read the same
// words from it.
std::string join_response(const Words& words);

// Replaces each "@file" by the words of the file, and does so in that file, too (relative to the
// working directory). A file that cannot be read, or that includes itself, stays as "@file".
Words expand_response_files(const Words& arguments);

}  // namespace stab::driver
