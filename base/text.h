// SPDX-License-Identifier: MIT
// Small helpers for messages to people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stab {

// Levenshtein's distance.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that the user probably meant, or "" if no candidate is close.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// The text as one line for a terminal, without control characters: at most `limit` bytes, and dots
// after them if there were more.
std::string one_line(std::string_view text, std::size_t limit);
// The same, but the middle of a longer text is missing, not its end, and the dots in its place are
// among the `limit` bytes.
std::string without_middle(std::string_view text, std::size_t limit);

// Keeps the end of the text, where an error usually is, and says how much was cut. Invalid UTF-8
// becomes '?'.
std::string tail(std::string_view text, std::size_t limit);

// The last line that is not blank, as one_line() returns it; "" if all lines are blank.
std::string last_line(std::string_view text, std::size_t limit);

// The first line of a build's output that looks like an error, or else the last line.
std::string first_error(std::string_view text, std::size_t limit);

// The exact number: "8 MiB", "1025 bytes".
std::string format_bytes(std::uint64_t bytes);

// The rounded number: "8.0 MiB", "512 bytes".
std::string about_bytes(std::uint64_t bytes);

// The value with `digits` significant digits, but without an exponent below a million: rounded(128,
// 2) is "128", and rounded(4.24, 2) is "4.2".
std::string rounded(double value, int digits);

// The ends of an interval, both with as many decimals as rounded() needs for either: "2.0" and
// "2.7". If an end other than 0 had no digits left, both are as rounded() gives them. `sign`: also
// with the sign of a positive number.
std::pair<std::string, std::string> rounded_ends(double low, double high, int digits,
                                                 bool sign = false);

// Quotes the text as one word for /bin/sh: 'it'\''s'.
std::string shell_quote(std::string_view word);

}  // namespace stab
