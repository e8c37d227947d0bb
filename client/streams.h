// SPDX-License-Identifier: MIT
// The text that stabctl reads and writes: files and pipes as input, and output to a file, stdout or
// a terminal, which must not obey control characters in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::client {

// Reads a file's text, without a copy of it if the file is regular: owns a mapping of a regular
// file, or the text that was read from a pipe.
class Input {
 public:
  // "-" is stdin.
  static Result<Input> open(const std::string& path);

  Input(Input&& other) noexcept;
  Input& operator=(Input&&) = delete;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  // Valid as long as this object.
  [[nodiscard]] std::string_view text() const;

 private:
  Input() = default;

  void* mapping_ = nullptr;
  std::size_t size_ = 0;
  std::string copy_;
};

// False if the user has refused colours with NO_COLOR.
bool colours_are_allowed();
// Whether stdout is a terminal and colours are allowed.
bool wants_colour();

// Columns of the terminal at stdout, from COLUMNS or else from the terminal; nothing if stdout is
// not a terminal.
std::optional<std::uint32_t> terminal_width();

// Makes a text of a program or a user safe: keeps its lines, and turns other control characters
// into spaces.
std::string for_terminal(std::string_view text);

// Writes to stdout if the path is "" or "-". A reader that has gone is not an error. On a terminal,
// no control characters are written except newlines, and colours if the text is our own report.
enum class Colours { none, ours };
Result<void> write_output(std::string_view text, const std::string& path, Colours colours);

// Writes JSON and a newline to stdout. On a terminal, replaces control characters in the JSON.
Result<void> write_json(const std::string& text);

// Whether whoever read our output has closed it.
bool reader_has_gone();
// Flushes stdout. Fails if some of the output could not be written, now or before. A reader that
// has gone is not an error.
Result<void> flush_output();

// "2026-01-31 12:00:00"; "" for 0.
std::string local_time(std::int64_t ns);

// Prints a line on stderr, safe for a terminal. Ignores errors, as when nobody can read the line.
void tell(std::string_view text);

}  // namespace stab::client
