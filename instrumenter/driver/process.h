// SPDX-License-Identifier: MIT
// Starts programs, in place of this process or as a child to wait for. Also has what a program is
// started with: its words, which may stand in response files, and environment variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace stab::driver {

using Words = std::vector<std::string>;

// "@file" arguments, read as clang and lld read them:

// Splits at white space. Quotes of both kinds group words, and a backslash escapes the next
// character.
Words split_response(std::string_view text);

// The text of a response file with these words. split_response, clang, gcc and lld read the same
// words from it.
std::string join_response(const Words& words);

// Replaces each "@file" by the words of the file, and does so in that file, too (relative to the
// working directory). A file that cannot be read, or that includes itself, stays as "@file".
// `only_once` becomes true if one of the files cannot be read again, such as the pipe of "@<(...)".
Words expand_response_files(const Words& arguments, bool* only_once = nullptr);

// szc speaks to ld.stab through clang by environment variables. Users may set all of these except
// the last four, for builds that lose flags on the way.
namespace variable {
inline constexpr const char* compiler = "STAB_CC";  // clang or gcc; wins over the next one
inline constexpr const char* clang = "STAB_CLANG";
inline constexpr const char* off = "STAB_OFF";
inline constexpr const char* strict = "STAB_STRICT";
inline constexpr const char* quiet = "STAB_QUIET";
inline constexpr const char* link_order = "STAB_LINK_ORDER";
inline constexpr const char* link_padding = "STAB_LINK_PADDING";
inline constexpr const char* stack = "STAB_STACK";
inline constexpr const char* linker = "STAB_LD_LINKER";       // the linker that the user chose
inline constexpr const char* used_clang = "STAB_LD_CLANG";    // the clang that calls ld.stab
inline constexpr const char* pass_phase = "STAB_PASS_PHASE";  // in which stab-pass.so works
inline constexpr const char* started =
    "STAB_STARTED";  // the compilers that szc started, outermost first
}  // namespace variable

// Returns "" if the variable is not set.
std::string environment(const char* name);

// Whether the variable is neither empty nor 0.
bool is_set(const char* name);

// `name` is the flag or variable that an error message names.
Result<std::uint64_t> parse_seed(std::string_view name, std::string_view text);

// How a child ended, as reported by waitpid.
struct Ending {
  int status = 0;
  [[nodiscard]] bool success() const { return status == 0; }
};

// The kernel refuses very long arguments, so each of these functions passes them in a response file
// in memory. The program must read "@file", as compilers and lld do.

// Runs words[0] with the words as its arguments. The child dies if we do. Its stderr is ours, or is
// discarded.
enum class Errors { shown, dropped };
Result<Ending> run_and_wait(const Words& words, Errors errors = Errors::shown);

// Returns the program's standard output if it ends successfully. Otherwise the error quotes what the
// program wrote to stderr.
Result<std::string> read_output(const Words& words);

// Becomes the program, and returns only if that fails. The first `kept` words are never in a
// response file: the program, and the one that it starts, as in "ccache clang".
Error become(const Words& words, std::size_t kept = 1);

// Ends this process as the child ended: with its exit status or by its signal.
[[noreturn]] void end_like(const Ending& ending);

}  // namespace stab::driver
