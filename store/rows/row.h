// SPDX-License-Identifier: MIT
// A row of any table as named values, its checksum, and the functions that turn records into rows
// and back. The checksum (doc/store.md, "Checksums") is:
//   The first 64 bits of SHA-256 over the table's name and, for each column that is not NULL, in
//   the order of the names: name, type (i, r or t), value; every piece with its length before it.
// So NULL differs from empty, and a column that a later version adds does not change the checksums
// of old rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "store/records.h"

namespace stab::store {

// Builds the text from which a row's checksum is computed (doc/store.md, "Checksums"), piece by
// piece. Add the columns in the order of their names, and leave out those that are NULL.
class ChecksumText {
 public:
  // A text with its length before it.
  static std::string piece(std::string_view text);

  void begin(std::string_view table);
  // For each column, add piece() of its name, then its value.
  void add_name(std::string_view piece) { text_ += piece; }
  void add(std::int64_t value);
  void add(double value);
  void add(std::string_view value);
  [[nodiscard]] std::int64_t value() const;

 private:
  void add_piece(std::string_view bytes);

  std::string text_;
};

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

// About the size of the numbers of any row, and of its entries in indexes.
inline constexpr std::int64_t bytes_of_numbers = 200;

class Row {
 public:
  void set(std::string_view column, std::int64_t value) { put(column, value); }
  void set(std::string_view column, double value);
  void set(std::string_view column, std::string_view value) { put(column, std::string(value)); }
  void set(std::string_view column, std::optional<std::int64_t> value);
  void set(std::string_view column, std::optional<double> value);
  // Store NULL instead of the value that means "none".
  void set_unless(std::int64_t none, std::string_view column, std::int64_t value);
  void set_unless_empty(std::string_view column, std::string_view value);
  void set_value(std::string_view column, Value value) { put(column, std::move(value)); }

  // These throw Failure if the column is missing or has another type, because then stabd did not
  // make the row.
  [[nodiscard]] std::int64_t integer(std::string_view column) const;
  [[nodiscard]] double real(std::string_view column) const;
  [[nodiscard]] const std::string& text(std::string_view column) const;
  [[nodiscard]] std::string text_or_empty(std::string_view column) const;  // "" for NULL
  [[nodiscard]] std::optional<std::int64_t> optional_integer(std::string_view column) const;
  [[nodiscard]] std::optional<double> optional_real(std::string_view column) const;

  [[nodiscard]] const std::map<std::string, Value, std::less<>>& values() const { return values_; }

  [[nodiscard]] std::int64_t checksum(std::string_view table) const;
  // The row's approximate size in the database.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  void put(std::string_view column, Value value);
  [[nodiscard]] const Value& value(std::string_view column) const;

  std::map<std::string, Value, std::less<>> values_;
};

// Converts records to rows and back. The connection sets the column `id`. A number that is too
// large for its member loses its upper bits. Throws (see exceptions.h).
Row to_row(const Machine& machine);
Row to_row(const Experiment& experiment);
Row to_row(const Build& build);
Row to_row(const Trial& trial);
Row to_row(const Calibration& calibration);
Row to_row(const Event& event);

Machine to_machine(const Row& row);
Experiment to_experiment(const Row& row);
Build to_build(const Row& row);
Trial to_trial(const Row& row);  // in reader.cc
Calibration to_calibration(const Row& row);
Event to_event(const Row& row);

}  // namespace stab::store
