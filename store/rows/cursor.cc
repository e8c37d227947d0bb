// SPDX-License-Identifier: MIT
#include "store/rows/cursor.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>

#include "store/exceptions.h"

namespace stab::store {
namespace {

int bind(sqlite3_stmt* statement, int index, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, index, *number);
  if (const auto* real = std::get_if<double>(&value))
    return sqlite3_bind_double(statement, index, *real);
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT,
                               SQLITE_UTF8);
  return sqlite3_bind_null(statement, index);
}

// Everything except numbers is read as text.
std::string_view bytes_of(sqlite3_stmt* statement, int place) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, place));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, place))};
}

}  // namespace

Cursor::Cursor(sqlite3* database, std::string_view table, std::string_view query,
               Arguments arguments)
    : database_(database), table_(table) {
  sqlite3_stmt* statement = nullptr;
  int status = sqlite3_prepare_v2(database, query.data(), static_cast<int>(query.size()),
                                  &statement, nullptr);
  if (status != SQLITE_OK) throw SQLite::Exception(database, status);
  statement_.reset(statement);
  int index = 0;
  for (const Value& argument : arguments)
    if (status = bind(statement, ++index, argument); status != SQLITE_OK)
      throw SQLite::Exception(database, status);
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    const std::string name = sqlite3_column_name(statement, i);
    if (name == "checksum")
      checksum_ = i;
    else
      columns_.push_back({.name = name, .piece = ChecksumText::piece(name), .place = i});
  }
  std::ranges::sort(columns_, {}, &Column::name);
  id_ = place("id");
  if (checksum_ < 0) refuse("the schema lacks the column 'checksum'");
}

bool Cursor::step() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status != SQLITE_DONE) throw SQLite::Exception(database_, status);
  return false;
}

int Cursor::place(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column, &Column::name);
  if (found == columns_.end()) refuse(fmt::format("the schema lacks the column {}", column));
  return found->place;
}

void Cursor::need(int place, int type, const char* what) const {
  if (sqlite3_column_type(statement_.get(), place) == type) return;
  refuse(
      fmt::format("the column {} is not {}", sqlite3_column_name(statement_.get(), place), what));
}

bool Cursor::is_null(int place) const {
  return sqlite3_column_type(statement_.get(), place) == SQLITE_NULL;
}

std::int64_t Cursor::integer(int place) const {
  need(place, SQLITE_INTEGER, "an integer");
  return sqlite3_column_int64(statement_.get(), place);
}

std::optional<std::int64_t> Cursor::optional_integer(int place) const {
  if (is_null(place)) return std::nullopt;
  return integer(place);
}

double Cursor::real(int place) const {
  need(place, SQLITE_FLOAT, "a real number");
  return sqlite3_column_double(statement_.get(), place);
}

std::string_view Cursor::text(int place) const {
  need(place, SQLITE_TEXT, "text");
  return bytes_of(statement_.get(), place);
}

std::string_view Cursor::text_or_empty(int place) const {
  return is_null(place) ? "" : text(place);
}

bool Cursor::intact() {
  sqlite3_stmt* const statement = statement_.get();
  text_.begin(table_);
  for (const auto& [name, piece, place] : columns_) {
    const int type = sqlite3_column_type(statement, place);
    if (type == SQLITE_NULL) continue;
    text_.add_name(piece);
    if (type == SQLITE_INTEGER)
      text_.add(std::int64_t{sqlite3_column_int64(statement, place)});
    else if (type == SQLITE_FLOAT)
      text_.add(sqlite3_column_double(statement, place));
    else
      text_.add(bytes_of(statement, place));
  }
  return text_.value() == sqlite3_column_int64(statement, checksum_);
}

void Cursor::require_intact() {
  if (!intact())
    refuse_damaged({.table = table_, .row = id(), .problem = std::string(checksum_problem)});
}

Row Cursor::row() const {
  sqlite3_stmt* const statement = statement_.get();
  Row row;
  for (const auto& [name, piece, place] : columns_) switch (sqlite3_column_type(statement, place)) {
      case SQLITE_NULL:
        row.set_value(name, {});
        break;
      case SQLITE_INTEGER:
        row.set_value(name, std::int64_t{sqlite3_column_int64(statement, place)});
        break;
      case SQLITE_FLOAT:
        row.set_value(name, sqlite3_column_double(statement, place));
        break;
      default:
        row.set_value(name, std::string(bytes_of(statement, place)));
    }
  return row;
}

}  // namespace stab::store
