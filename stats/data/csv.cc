// SPDX-License-Identifier: MIT
#include "stats/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "stats/data/dataset.h"
#include "stats/numbers/decimal.h"

namespace stab::stats {
namespace {

// Reads a CSV text as lines of cells, one after the other.

class CsvCells {
 public:
  // `text` must outlive this object.
  CsvCells(std::string_view text, char separator) : text_(text), separator_(separator) {
    for (const char c : {separator, '\n', '\r', '"', '\0'})
      stops_[static_cast<unsigned char>(c)] = true;
  }

  // Returns the cells of the next line that is not empty, valid until the next call; false at the
  // end.
  Result<bool> next(std::vector<std::string_view>& cells);

  // The line where the last row began, counted from 1.
  [[nodiscard]] std::size_t line() const { return line_; }

  // "line 3, column 2: what"
  [[nodiscard]] std::unexpected<Error> error(std::size_t column, const std::string& what) const;

 private:
  Result<std::string_view> cell(std::size_t column);
  Result<std::string_view> quoted(std::size_t column);
  [[nodiscard]] bool at_end_of_line() const;
  void end_line();

  std::string_view text_;
  char separator_;
  std::array<bool, 256> stops_{};  // the bytes that end a cell, or are an error in it
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  std::deque<std::string> unescaped_;  // cells of this row that had doubled quotes
};

std::unexpected<Error> CsvCells::error(std::size_t column, const std::string& what) const {
  return fail(fmt::format("line {}, column {}: {}", line_, column, what));
}

bool CsvCells::at_end_of_line() const {
  if (at_ == text_.size() || text_[at_] == '\n') return true;
  return text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n');
}

void CsvCells::end_line() {
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size()) ++at_;
  ++next_line_;
}

Result<bool> CsvCells::next(std::vector<std::string_view>& cells) {
  cells.clear();
  if (!unescaped_.empty()) unescaped_.clear();
  while (at_ < text_.size() && at_end_of_line()) end_line();
  if (at_ == text_.size()) return false;
  line_ = next_line_;
  while (true) {
    const auto text = cell(cells.size() + 1);
    if (!text) return std::unexpected(text.error());
    cells.push_back(*text);
    if (at_end_of_line()) break;
    ++at_;  // the separator
  }
  end_line();
  return true;
}

Result<std::string_view> CsvCells::cell(std::size_t column) {
  if (at_ < text_.size() && text_[at_] == '"') return quoted(column);
  const std::string_view rest = text_.substr(at_);
  const auto stop =
      std::ranges::find_if(rest, [&](char c) { return stops_[static_cast<unsigned char>(c)]; });
  const auto size = static_cast<std::size_t>(stop - rest.begin());
  at_ += size;
  if (at_end_of_line() || text_[at_] == separator_) return rest.substr(0, size);
  if (text_[at_] == '"')
    return error(
        column,
        "this cell contains a quote but is not quoted; quote the whole cell and double the "
        "quotes inside");
  if (text_[at_] == '\0') return error(column, "a zero byte: this is not text");
  return error(column, "a carriage return inside a line; end each line with a line feed");
}

Result<std::string_view> CsvCells::quoted(std::size_t column) {
  const std::size_t begin = ++at_;
  bool doubled = false;
  while (true) {
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos)
      return error(column, "the quote that begins here never ends");
    at_ = end + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    doubled = true;
    ++at_;
  }
  const std::string_view inside = text_.substr(begin, at_ - 1 - begin);
  next_line_ += static_cast<std::size_t>(std::ranges::count(inside, '\n'));
  if (inside.contains('\0')) return error(column, "a zero byte: this is not text");
  if (!at_end_of_line() && text_[at_] != separator_)
    return error(column, "text after the closing quote");
  if (!doubled) return inside;
  std::string& plain = unescaped_.emplace_back();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    plain += inside[i];
    if (inside[i] == '"') ++i;
  }
  return std::string_view(plain);
}

// The times at which the rows of a CSV were measured. The cells of the column are numbers (a
// running number, a time stamp), or ISO 8601 times, which sort like texts.

class CsvOrder {
 public:
  // Adds the next row's cell. Returns false if it is neither a number nor a time, or of another
  // kind than the cells before it.
  bool add(std::string_view cell, char decimal_point);

  // Sorts the rows of the dataset, which has one row for each cell. Rows with equal cells keep
  // their order.
  void sort(Dataset& data) const;

  // Counts the rows whose cell another row also has: nothing says which of them came first.
  [[nodiscard]] std::size_t ties() const;

 private:
  [[nodiscard]] std::vector<std::uint32_t> rows() const;
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const;

  std::vector<double> numbers_;
  std::vector<std::string> times_;  // one of these two is empty
};

// Returns whether the cell begins with a date such as "2026-01-31".
bool is_time(std::string_view text) {
  constexpr std::string_view shape = "0000-00-00";
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  return true;
}

template <class T>
void rearrange(std::vector<T>& values, const std::vector<std::uint32_t>& rows) {
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const std::uint32_t row : rows) sorted.push_back(values[row]);
  values = std::move(sorted);
}

bool CsvOrder::add(std::string_view cell, char decimal_point) {
  const auto number = parse_number(cell, decimal_point);
  if (number && std::isfinite(number->value)) {
    numbers_.push_back(number->value);
    return times_.empty();
  }
  if (!is_time(cell)) return false;
  times_.emplace_back(cell);
  return numbers_.empty();
}

bool CsvOrder::before(std::uint32_t a, std::uint32_t b) const {
  return times_.empty() ? numbers_[a] < numbers_[b] : times_[a] < times_[b];
}

std::vector<std::uint32_t> CsvOrder::rows() const {
  std::vector<std::uint32_t> result(std::max(numbers_.size(), times_.size()));
  std::iota(result.begin(), result.end(), 0U);
  std::ranges::sort(result, [&](std::uint32_t a, std::uint32_t b) {
    return before(a, b) || (a < b && !before(b, a));
  });
  return result;
}

void CsvOrder::sort(Dataset& data) const {
  const std::vector<std::uint32_t> sorted = rows();
  rearrange(data.response, sorted);
  for (Column& column : data.columns) rearrange(column.codes, sorted);
}

std::size_t CsvOrder::ties() const {
  const std::vector<std::uint32_t> sorted = rows();
  const auto equal = [&](std::size_t i) { return !before(sorted[i - 1], sorted[i]); };
  std::size_t result = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    result += (i > 0 && equal(i)) || (i + 1 < sorted.size() && equal(i + 1)) ? 1 : 0;
  return result;
}

using Fields = std::vector<std::string_view>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

char separator_of(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  for (const char c : {',', ';', '\t'})
    if (header.contains(c)) return c;
  return ',';
}

// The numbers of the response, stored relative to the first one as long as the exact difference has
// more digits.
class Response {
 public:
  void add_missing() { add(std::numeric_limits<double>::quiet_NaN(), {}); }

  void add(double value, const std::optional<Decimal>& exact) {
    plain_.push_back(value);
    if (!near_) return;
    if (!std::isfinite(value)) {
      centred_.push_back(value);
      return;
    }
    if (!centre_) {
      centre_ = exact;
      centre_value_ = value;
    }
    const auto offset = centre_ && exact ? difference(*exact, *centre_) : std::nullopt;
    // A number farther from the first than half of that one's size loses no digits as a double.
    near_ = offset && std::abs(*offset) <= std::abs(centre_value_) / 2;
    if (near_)
      centred_.push_back(*offset);
    else
      centred_ = {};
  }

  void move_to(Dataset& data) {
    data.response = near_ ? std::move(centred_) : std::move(plain_);
    data.centre = near_ ? centre_value_ : 0;
  }

 private:
  std::vector<double> plain_;
  std::vector<double> centred_;
  std::optional<Decimal> centre_;
  double centre_value_ = 0;
  bool near_ = true;
};

struct Factor {
  std::size_t place = 0;
  Interner levels;
  std::vector<std::uint32_t> codes;
};

class CsvReader {
 public:
  CsvReader(std::string_view text, const CsvColumns& wanted)
      : separator_(separator_of(text)),
        point_(separator_ == ';' ? ',' : '.'),
        cells_(text, separator_),
        wanted_(wanted) {}

  Result<CsvData> read() {
    if (auto found = read_header(); !found) return std::unexpected(found.error());
    std::size_t rows = 0;
    while (true) {
      const auto more = cells_.next(row_);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      ++rows;
      if (auto read = read_row(); !read) return std::unexpected(read.error());
    }
    if (rows == 0) return fail("there are no rows below the header");
    return finish();
  }

 private:
  Result<void> read_header() {
    const auto there = cells_.next(row_);
    if (!there) return std::unexpected(there.error());
    if (!*there) return fail("the file is empty");
    for (const std::string_view name : row_) header_.emplace_back(trimmed(name));
    const auto response = find(wanted_.response);
    if (!response) return std::unexpected(response.error());
    response_place_ = *response;
    for (const std::string& name : wanted_.factors) {
      const auto place = find(name);
      if (!place) return std::unexpected(place.error());
      factors_.push_back({.place = *place, .levels = {}, .codes = {}});
    }
    return read_other_places();
  }

  Result<void> read_other_places() {
    if (!wanted_.order.empty()) {
      const auto place = find(wanted_.order);
      if (!place) return std::unexpected(place.error());
      order_place_ = *place;
    }
    for (const CsvOnly& only : wanted_.only) {
      const auto place = find(only.column);
      if (!place) return std::unexpected(place.error());
      only_places_.push_back(*place);
    }
    left_out_.resize(wanted_.only.size());
    return {};
  }

  Result<std::size_t> find(const std::string& name) const {
    const auto found = std::ranges::find(header_, name);
    if (found == header_.end()) return unknown(name);
    if (std::find(found + 1, header_.end(), name) != header_.end())
      return fail(fmt::format("the header has the column {} twice", one_line(name, 60)));
    return static_cast<std::size_t>(found - header_.begin());
  }

  std::unexpected<Error> unknown(const std::string& name) const {
    const std::string near = nearest(name, header_);
    if (!near.empty())
      return fail(fmt::format("there is no column {}; did you mean {}?", one_line(name, 60),
                              one_line(near, 60)));
    std::string all;
    for (const std::string& column : header_) all += (all.empty() ? "" : ", ") + column;
    return fail(fmt::format("there is no column {}; the columns are {}", one_line(name, 60),
                            one_line(all, 400)));
  }

  Result<void> read_row() {
    if (row_.size() != header_.size())
      return cells_.error(
          std::min(row_.size(), header_.size()) + (row_.size() > header_.size()),
          fmt::format("the row has {} cells, but the header has {}", row_.size(), header_.size()));
    const CsvOnly* failed = first_unmet();
    if (failed != nullptr && !failed->others_are_lost) return {};
    for (const Factor& factor : factors_) {
      std::string_view& cell = row_[factor.place];
      cell = trimmed(cell);
      if (!is_missing(cell)) continue;
      incomplete_ += failed == nullptr ? 1 : 0;
      return {};
    }
    if (failed != nullptr) return lose_row(*failed);
    if (auto read = read_order(); !read) return read;
    if (auto read = read_response(); !read) return read;
    for (Factor& factor : factors_) factor.codes.push_back(factor.levels.code(row_[factor.place]));
    return {};
  }

  // Returns the first of `only` that the row does not meet.
  const CsvOnly* first_unmet() {
    for (std::size_t i = 0; i < only_places_.size(); ++i) {
      if (lower_case(trimmed(row_[only_places_[i]])) == wanted_.only[i].text) continue;
      ++left_out_[i];
      return &wanted_.only[i];
    }
    return nullptr;
  }

  Result<void> lose_row(const CsvOnly& rule) {
    Lost lost;
    for (Factor& factor : factors_) lost.codes.push_back(factor.levels.code(row_[factor.place]));
    const std::size_t place =
        static_cast<std::size_t>(std::ranges::find(header_, rule.column) - header_.begin());
    const std::string why = lower_case(trimmed(row_[place]));
    lost.excluded = !rule.excluded.empty() && why == rule.excluded;
    const bool bounded = !rule.at_least.empty() && why == rule.at_least;
    const auto number = parse_number(trimmed(row_[response_place_]), point_);
    if (number && std::isfinite(number->value)) {
      if (bounded || lost.excluded) lost.at_least = number->value;
      if (lost.excluded) lost.at_most = number->value;
    }
    lost_.push_back(std::move(lost));
    return {};
  }

  Result<void> read_order() {
    if (wanted_.order.empty()) return {};
    const std::string_view text = trimmed(row_[order_place_]);
    if (order_.add(text, point_) || (point_ == ',' && order_.add(text, '.'))) return {};
    return cells_.error(
        order_place_ + 1,
        fmt::format("'{}' does not say when the row was measured: the column {} must have only "
                    "numbers, or only times like 2026-01-31T12:00:00",
                    one_line(text, 60), one_line(wanted_.order, 60)));
  }

  static bool is_missing(std::string_view text) { return text.empty() || text == "NA"; }

  Result<void> read_response() {
    const std::string_view text = trimmed(row_[response_place_]);
    if (is_missing(text)) {
      response_.add_missing();
      return {};
    }
    auto number = parse_number(text, point_);
    if (!number && point_ == ',') number = parse_number(text, '.');
    if (!number)
      return cells_.error(response_place_ + 1,
                          fmt::format("'{}' is not a number, but the column {} needs numbers",
                                      one_line(text, 60), one_line(wanted_.response, 60)));
    response_.add(number->value, number->exact);
    return {};
  }

  CsvData finish() {
    CsvData result;
    result.incomplete = incomplete_;
    response_.move_to(result.data);
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      std::vector<std::uint32_t> renumber;
      Column column{.name = wanted_.factors[i], .levels = {}, .codes = {}};
      column.levels = factors_[i].levels.sorted(renumber, point_);
      column.codes = std::move(factors_[i].codes);
      for (std::uint32_t& code : column.codes) code = renumber[code];
      for (Lost& trial : lost_) trial.codes[i] = renumber[trial.codes[i]];
      result.data.columns.push_back(std::move(column));
    }
    result.data.lost = std::move(lost_);
    result.data.lists_lost = std::ranges::any_of(wanted_.only, &CsvOnly::others_are_lost);
    result.left_out = std::move(left_out_);
    if (!wanted_.order.empty()) {
      result.ties = order_.ties();
      order_.sort(result.data);
    }
    return result;
  }

  char separator_;
  char point_;
  CsvCells cells_;
  const CsvColumns& wanted_;
  Fields row_;
  std::vector<std::string> header_;
  std::size_t response_place_ = 0;
  std::vector<Factor> factors_;
  Response response_;
  std::size_t incomplete_ = 0;
  std::size_t order_place_ = 0;
  CsvOrder order_;
  std::vector<std::size_t> only_places_;
  std::vector<std::size_t> left_out_;
  std::vector<Lost> lost_;
};

std::string_view without_mark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

}  // namespace

std::optional<std::vector<std::string>> csv_header(std::string_view text) {
  text = without_mark(text);
  CsvCells cells(text, separator_of(text));
  Fields row;
  const auto there = cells.next(row);
  if (!there || !*there) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string_view name : row) names.emplace_back(trimmed(name));
  return names;
}

Result<CsvData> read_csv(std::string_view text, const CsvColumns& wanted) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return fail("the text is UTF-16; save it as UTF-8");
  return CsvReader(without_mark(text), wanted).read();
}

}  // namespace stab::stats
