// SPDX-License-Identifier: MIT
#include "store/rows/row.h"

#include <fmt/format.h>

#include <utility>

#include "store/exceptions.h"
#include "store/rows/checksum.h"

namespace stab::store {
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
  refuse(fmt::format("the column {} is not a text", column));
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
