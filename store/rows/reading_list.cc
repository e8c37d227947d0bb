// SPDX-License-Identifier: MIT
#include "store/rows/reading_list.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

#include "store/rows/list_text.h"

namespace stab::store {
namespace {

using counters::Reading;
using counters::Status;

void add_real(std::string& to, double value) {
  const std::string digits = fmt::format("{}", value);
  to += digits;
  if (digits.find_first_of(".e") == std::string::npos) to += ".0";
}

void add_value(std::string& to, const counters::Number& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    fmt::format_to(std::back_inserter(to), "{}", *whole);
  else
    add_real(to, std::get<double>(value));
}

bool is_finite(const counters::Number& value) {
  const auto* real = std::get_if<double>(&value);
  return real == nullptr || std::isfinite(*real);
}

void add(std::string& to, const Reading& reading) {
  to += '[';
  add_text(to, reading.name);
  to += ',';
  add_text(to, reading.unit);
  to += ',';
  const bool finite = is_finite(reading.value) && std::isfinite(reading.coverage);
  if (reading.status != Status::absent && finite) {
    add_value(to, reading.value);
    if (reading.status == Status::scaled) add_real(to += ',', reading.coverage);
  } else {
    to += "null,";
    add_text(to, reading.status == Status::absent ? reading.reason : "its value is not finite");
    if (reading.status == Status::absent && finite && reading.coverage != 1)
      add_real(to += ',', reading.coverage);
  }
  to += ']';
}

class Scanner : private ListScanner {
 public:
  explicit Scanner(std::string_view text) : ListScanner("reading_list", text) {}

  void read_all(std::vector<Reading>& readings) {
    std::size_t count = 0;
    expect('[');
    do {
      if (readings.size() == count) readings.emplace_back();
      read_one(readings[count++]);
    } while (take(','));
    expect(']');
    if (!is_at_end()) wrong();
    readings.resize(count);
  }

 private:
  void read_one(Reading& reading) {
    expect('[');
    read(reading.name);
    expect(',');
    read(reading.unit);
    expect(',');
    reading.coverage = 1;
    reading.reason.clear();
    if (take("null,")) {
      reading.status = Status::absent;
      reading.value = 0;
      read(reading.reason);
      if (take(',')) reading.coverage = real();
    } else {
      reading.value = number();
      reading.status = take(',') ? Status::scaled : Status::counted;
      if (reading.status == Status::scaled) reading.coverage = real();
    }
    expect(']');
  }

  counters::Number number() {
    const std::string_view digits = number_ahead();
    if (digits.find_first_of(".e") != std::string_view::npos) return real();
    std::int64_t whole = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    if (error != std::errc() || stop != digits.data() + digits.size()) wrong();
    skip(digits);
    return whole;
  }
};

}  // namespace

std::string reading_list(const std::vector<Reading>& readings) {
  std::string text;
  text.reserve(64 * readings.size());
  for (const Reading& reading : readings) {
    text += text.empty() ? '[' : ',';
    add(text, reading);
  }
  return text.empty() ? "" : text + "]";
}

void read_reading_list(std::string_view text, std::vector<Reading>& readings) {
  if (text.empty())
    readings.clear();
  else
    Scanner(text).read_all(readings);
}

}  // namespace stab::store
