// SPDX-License-Identifier: MIT
#include "store/rows/reading_list.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "store/failure.h"

namespace stab::store {
namespace {

using counters::Reading;
using counters::Status;

void add_text(std::string& to, const std::string& text) {
  // Of what our own sources are called nothing needs an escape.
  constexpr auto is_plain = [](unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
  };
  if (std::ranges::all_of(text, is_plain))
    fmt::format_to(std::back_inserter(to), "\"{}\"", text);
  else
    to += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

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

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  void read(std::vector<Reading>& readings) {
    std::size_t count = 0;
    expect('[');
    do {
      if (readings.size() == count) readings.emplace_back();
      read(readings[count++]);
    } while (take(','));
    expect(']');
    if (!rest_.empty()) wrong();
    readings.resize(count);
  }

 private:
  [[noreturn]] static void wrong() { refuse("the column reading_list is no list of readings"); }

  bool take(char byte) {
    if (rest_.empty() || rest_.front() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char byte) {
    if (!take(byte)) wrong();
  }

  void read(Reading& reading) {
    expect('[');
    read(reading.name);
    expect(',');
    read(reading.unit);
    expect(',');
    reading.coverage = 1;
    reading.reason.clear();
    if (rest_.starts_with("null,")) {
      rest_.remove_prefix(5);
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

  void read(std::string& text) {
    expect('"');
    const auto end = rest_.find_first_of("\"\\");
    if (end == std::string_view::npos) wrong();
    if (rest_[end] == '"') {
      text.assign(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return;
    }
    std::size_t quote = end;
    while (quote < rest_.size() && rest_[quote] != '"') quote += rest_[quote] == '\\' ? 2 : 1;
    if (quote >= rest_.size()) wrong();
    const auto escaped =
        nlohmann::json::parse(fmt::format("\"{}\"", rest_.substr(0, quote)), nullptr, false);
    if (!escaped.is_string()) wrong();
    text = escaped.get<std::string>();
    rest_.remove_prefix(quote + 1);
  }

  counters::Number number() {
    const auto end = rest_.find_first_of(",]");
    const std::string_view digits = rest_.substr(0, end);
    if (digits.find_first_of(".e") != std::string_view::npos) return real();
    std::int64_t whole = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    if (error != std::errc() || stop != digits.data() + digits.size()) wrong();
    rest_.remove_prefix(digits.size());
    return whole;
  }

  double real() {
    double value = 0;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) wrong();
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return value;
  }

  std::string_view rest_;
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
    Scanner(text).read(readings);
}

}  // namespace stab::store
