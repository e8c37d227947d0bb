// SPDX-License-Identifier: MIT
// Says which texts a plan may have, and replaces ${NAME} in them.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

inline constexpr std::size_t max_word = std::size_t{64} << 10;  // a command, an argument, a value

// No NUL byte, which would end the text early, and at most max_word bytes.
bool is_word(std::string_view text);
// A word that is not empty.
bool is_filled_word(std::string_view text);
// 1 to 100 characters, without control characters.
bool is_title(std::string_view text);
// At most 500 characters, without control characters.
bool is_question(std::string_view text);
// At most 200 characters, without control characters.
bool is_event(std::string_view text);
// At most 20 characters, without control characters.
bool is_unit(std::string_view text);
// Words of 1 to 1000 bytes.
bool is_pattern(std::string_view text);
bool is_formula(std::string_view text);
// 1 to 64 of A-Z a-z 0-9 . _ + -, but not "." or "..": benchmarks and levels.
bool is_name(std::string_view text);
// 1 to 64 of A-Z a-z 0-9 _, and the first one is not a digit: variables and factors.
bool is_identifier(std::string_view text);
// A word that does not start with a slash.
bool is_relative_path(std::string_view text);
// 64 hexadecimal digits.
bool is_sha256(std::string_view text);

// 1 to 64 of A-Z a-z 0-9 . _ -, and the first one is a letter or a digit: a node of a cluster.
bool is_node(std::string_view text);
// The range "2-4". Nothing if the text is no range of 1 to max_machines nodes.
std::optional<NodeRange> node_range(std::string_view text);
// 1 to 200 visible ASCII characters: a partition, an account or a constraint of a cluster.
bool is_cluster_word(std::string_view text);

// 1 to 200 printable characters, and the first one is not "-": a text by which git may know a
// commit.
bool is_revision(std::string_view text);
// The full name of a commit.
bool is_commit(std::string_view text);

// The same rules in words, as in "'x' must be ...".
inline constexpr std::string_view word_rule = "a text of at most 64 KiB without NUL";
inline constexpr std::string_view filled_word_rule = "a text of 1 byte to 64 KiB without NUL";
inline constexpr std::string_view title_rule = "a text of 1 to 100 printable characters";
inline constexpr std::string_view question_rule = "a text of at most 500 printable characters";
inline constexpr std::string_view event_rule =
    "the name of an event, of 1 to 200 printable characters";
inline constexpr std::string_view unit_rule = "a text of at most 20 printable characters";
inline constexpr std::string_view pattern_rule = "a pattern of 1 to 1000 bytes";
inline constexpr std::string_view formula_rule = "a formula of 1 to 1000 bytes";
inline constexpr std::string_view name_rule = "1 to 64 of the characters A-Z a-z 0-9 . _ + -";
inline constexpr std::string_view identifier_rule =
    "1 to 64 of the characters A-Z a-z 0-9 _, not beginning with a digit";
inline constexpr std::string_view node_rule =
    "the name of a node (1 to 64 of the characters A-Z a-z 0-9 . _ -, beginning with a letter or a "
    "digit)";
inline constexpr std::string_view nodes_rule =
    "a number, a range such as \"2-4\", or an array of node names";
inline constexpr std::string_view cluster_word_rule =
    "1 to 200 printable ASCII characters without blanks, in Slurm's notation";
inline constexpr std::string_view relative_path_rule = "a path relative to the plan's directory";
inline constexpr std::string_view revision_rule =
    "a git revision of 1 to 200 printable characters that does not begin with -";
inline constexpr std::string_view commit_rule =
    "the full name of a commit, 40 or 64 of the digits 0-9 a-f";
inline constexpr std::string_view sha256_rule = "a SHA-256 of 64 hexadecimal digits";

// Returns the text with each ${NAME} replaced, in one pass; names that are not in `variables` stay
// as they are. $$ becomes $. Anything that is not exactly ${NAME}, such as ${NAME:-x} or $NAME,
// belongs to the shell.
std::string substitute(std::string_view text, const Variables& variables);

// Like substitute(), but $$ stays $$: the result is still a template, to which substitute() is
// applied at the end.
std::string fill(std::string_view text, const Variables& variables);

// The NAMEs of all ${NAME} in the text, in order of appearance.
std::vector<std::string> names_in(std::string_view text);

// The NAMEs whose values may differ between trials: what a factor sets, what a build makes, and
// variables that mention that.
std::set<std::string> changing_names(const Variables& variables,
                                     const std::vector<const Factor*>& factors);

}  // namespace stab::plan
