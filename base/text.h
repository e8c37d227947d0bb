// SPDX-License-Identifier: MIT
// Small helpers for messages to people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stab {

// Levenshtein's distance.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that the user probably meant, or "" if none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// The text without control characters and with at most `limit` bytes: fit for a terminal, one line.
std::string one_line(std::string_view text, std::size_t limit);

// Keeps the end, which holds the error, and says what was cut. Invalid UTF-8 becomes '?'.
std::string tail(std::string_view text, std::size_t limit);

// The last line that is not blank, fit for a terminal; "" if there is none.
std::string last_line(std::string_view text, std::size_t limit);

// Of what a build printed, the first line that reads like an error, else the last line.
std::string first_error(std::string_view text, std::size_t limit);

// Exactly: "8 MiB", "1025 bytes".
std::string format_bytes(std::uint64_t bytes);

// "8.0 MiB", "512 bytes".
std::string about_bytes(std::uint64_t bytes);

// The value with so many significant digits, and without a power of ten below a million:
// rounded(128, 2) is "128", and rounded(4.24, 2) is "4.2".
std::string rounded(double value, int digits);

// 'it'\''s': one word for /bin/sh.
std::string shell_quote(std::string_view word);

}  // namespace stab
