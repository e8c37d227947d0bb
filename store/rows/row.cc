// SPDX-License-Identifier: MIT
#include "store/rows/row.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "base/hash.h"
#include "store/exceptions.h"

namespace stab::store {

std::string ChecksumText::piece(std::string_view text) {
  return fmt::format("{}:{}", text.size(), text);
}

void ChecksumText::begin(std::string_view table) {
  text_.clear();
  add_piece(table);
}

void ChecksumText::add_piece(std::string_view bytes) {
  const fmt::format_int length(bytes.size());
  text_.append(length.data(), length.size());
  text_ += ':';
  text_ += bytes;
}

void ChecksumText::add(std::int64_t value) {
  text_ += "1:i";
  const fmt::format_int digits(value);
  add_piece({digits.data(), digits.size()});
}

void ChecksumText::add(double value) {
  text_ += "1:r";
  const fmt::format_int digits(std::bit_cast<std::uint64_t>(value));
  add_piece({digits.data(), digits.size()});
}

void ChecksumText::add(std::string_view value) {
  text_ += "1:t";
  add_piece(value);
}

std::int64_t ChecksumText::value() const {
  return std::bit_cast<std::int64_t>(sha256_word(text_));
}

// SQLite stores integral reals as integers and so loses the sign of zero.
void Row::set(std::string_view column, double value) {
  put(column, value == 0 ? 0.0 : value);
}

void Row::set(std::string_view column, std::optional<std::int64_t> value) {
  put(column, value ? Value(*value) : Value());
}

void Row::set(std::string_view column, std::optional<double> value) {
  if (value)
    set(column, *value);
  else
    put(column, Value());
}

void Row::set_unless(std::int64_t none, std::string_view column, std::int64_t value) {
  put(column, value == none ? Value() : Value(value));
}

void Row::set_unless_empty(std::string_view column, std::string_view value) {
  put(column, value.empty() ? Value() : Value(std::string(value)));
}

void Row::put(std::string_view column, Value value) {
  values_.insert_or_assign(std::string(column), std::move(value));
}

const Value& Row::value(std::string_view column) const {
  const auto found = values_.find(column);
  if (found == values_.end()) refuse(fmt::format("the schema lacks the column {}", column));
  return found->second;
}

std::int64_t Row::integer(std::string_view column) const {
  const auto number = optional_integer(column);
  if (!number) refuse(fmt::format("the column {} is NULL", column));
  return *number;
}

std::optional<std::int64_t> Row::optional_integer(std::string_view column) const {
  const Value& found = value(column);
  if (std::holds_alternative<std::monostate>(found)) return std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(&found)) return *number;
  refuse(fmt::format("the column {} is not an integer", column));
}

double Row::real(std::string_view column) const {
  if (const auto* number = std::get_if<double>(&value(column))) return *number;
  refuse(fmt::format("the column {} is not a real number", column));
}

std::optional<double> Row::optional_real(std::string_view column) const {
  if (std::holds_alternative<std::monostate>(value(column))) return std::nullopt;
  return real(column);
}

const std::string& Row::text(std::string_view column) const {
  if (const auto* found = std::get_if<std::string>(&value(column))) return *found;
  refuse(fmt::format("the column {} is not text", column));
}

std::string Row::text_or_empty(std::string_view column) const {
  return std::holds_alternative<std::monostate>(value(column)) ? "" : text(column);
}

std::int64_t Row::checksum(std::string_view table) const {
  ChecksumText text;
  text.begin(table);
  for (const auto& [column, value] : values_) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    text.add_name(ChecksumText::piece(column));
    if (const auto* number = std::get_if<std::int64_t>(&value)) text.add(*number);
    if (const auto* number = std::get_if<double>(&value)) text.add(*number);
    if (const auto* found = std::get_if<std::string>(&value)) text.add(std::string_view(*found));
  }
  return text.value();
}

}  // namespace stab::store
