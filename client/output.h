// SPDX-License-Identifier: MIT
// Where text goes: a file, stdout, or a terminal, which must not obey it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::client {

// Nobody has refused them with NO_COLOR.
bool colours_are_allowed();
// Whether stdout is a terminal that shows colours.
bool wants_colour();

// Columns of the terminal that stdout is, by COLUMNS or else as it says itself; nothing if it is none.
std::optional<std::uint32_t> terminal_width();

// Texts of programs and users: lines stay lines, other control characters become spaces.
std::string for_terminal(std::string_view text);

// To stdout if there is no path, or it is "-". A reader that has gone is no error. On a terminal
// only colours are left of control characters, and those only if the text is a report of ours.
enum class Colours { none, ours };
Result<void> write_output(std::string_view text, const std::string& path, Colours colours);

// JSON and the end of its line, to stdout. JSON leaves some control characters as they are.
Result<void> write_json(const std::string& text);

// What was printed so far leaves this process. An error if some of it did not, now or before. A reader
// that has gone is no error.
Result<void> flush_output();

// "2026-01-31 12:00:00"; "" of 0.
std::string local_time(std::int64_t ns);

// A line on stderr, fit for a terminal. Nothing follows if nobody can read it any more.
void tell(std::string_view text);

}  // namespace stab::client
