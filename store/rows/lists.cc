// SPDX-License-Identifier: MIT
#include "store/rows/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "store/exceptions.h"

namespace stab::store {

void add_text(std::string& to, const std::string& text) {
  // The names that our own code uses need no escapes.
  constexpr auto is_plain = [](unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
  };
  if (std::ranges::all_of(text, is_plain))
    fmt::format_to(std::back_inserter(to), "\"{}\"", text);
  else
    to += json_string(text);
}

void ListScanner::wrong() const {
  refuse(fmt::format("the column {} is not a list in stabd's format", column_));
}

bool ListScanner::take(char byte) {
  if (rest_.empty() || rest_.front() != byte) return false;
  rest_.remove_prefix(1);
  return true;
}

bool ListScanner::take(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  return true;
}

void ListScanner::expect(char byte) {
  if (!take(byte)) wrong();
}

void ListScanner::read(std::string& text) {
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

double ListScanner::real() {
  double value = 0;
  const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc() || !std::isfinite(value)) wrong();
  rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
  return value;
}

std::string_view ListScanner::number_ahead() const {
  return rest_.substr(0, rest_.find_first_of(",]"));
}

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

namespace {

using counters::Samples;

void add(std::string& to, const Samples& samples) {
  to += '[';
  for (const std::string* text : {&samples.measure, &samples.subject, &samples.unit}) {
    add_text(to, *text);
    to += ',';
  }
  const bool finite =
      std::ranges::all_of(samples.values, [](double value) { return std::isfinite(value); });
  if (samples.values.empty() || !finite) {
    to += "null,";
    add_text(to, finite ? samples.reason : "its values are not finite");
  } else {
    char before = '[';
    for (const double value : samples.values)
      fmt::format_to(std::back_inserter(to), "{}{}", std::exchange(before, ','), value);
    to += ']';
  }
  to += ']';
}

class SampleScanner : private ListScanner {
 public:
  explicit SampleScanner(std::string_view text) : ListScanner("sample_list", text) {}

  void read_all(std::vector<Samples>& samples) {
    std::size_t count = 0;
    expect('[');
    do {
      if (samples.size() == count) samples.emplace_back();
      read_one(samples[count++]);
    } while (take(','));
    expect(']');
    if (!is_at_end()) wrong();
    samples.resize(count);
  }

 private:
  void read_one(Samples& samples) {
    expect('[');
    for (std::string* text : {&samples.measure, &samples.subject, &samples.unit}) {
      read(*text);
      expect(',');
    }
    samples.values.clear();
    samples.reason.clear();
    if (take("null,"))
      read(samples.reason);
    else
      read_values(samples.values);
    expect(']');
  }

  void read_values(std::vector<double>& values) {
    expect('[');
    do values.push_back(real());
    while (take(','));
    expect(']');
  }
};

}  // namespace

std::string sample_list(const std::vector<Samples>& samples) {
  std::string text;
  std::size_t bytes = 2;
  for (const Samples& each : samples) bytes += counters::bytes_of(each);
  text.reserve(bytes);
  for (const Samples& each : samples) {
    text += text.empty() ? '[' : ',';
    add(text, each);
  }
  return text.empty() ? "" : text + "]";
}

void read_sample_list(std::string_view text, std::vector<Samples>& samples) {
  if (text.empty())
    samples.clear();
  else
    SampleScanner(text).read_all(samples);
}

namespace {

using counters::Profile;
using counters::ProfiledFunction;

constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();

void add(std::string& to, std::uint64_t number) {
  fmt::format_to(std::back_inserter(to), "{}", std::min(number, most));
}

void add(std::string& to, const ProfiledFunction& function) {
  to += '[';
  add_text(to, function.name);
  to += ',';
  add_text(to, function.object);
  to += ',';
  add(to, function.samples);
  to += ',';
  add(to, function.weight);
  to += ']';
}

class ProfileScanner : private ListScanner {
 public:
  explicit ProfileScanner(std::string_view text) : ListScanner("profile", text) {}

  void read_all(Profile& profile) {
    expect('[');
    read(profile.event);
    if (profile.event.empty()) wrong();
    expect(',');
    read(profile.unit);
    expect(',');
    const std::uint64_t hz = number();
    if (hz > std::numeric_limits<std::uint32_t>::max()) wrong();
    profile.hz = static_cast<std::uint32_t>(hz);
    expect(',');
    profile.lost = number();
    expect(',');
    profile.reason.clear();
    profile.functions.clear();
    if (take('['))
      read_functions(profile.functions);
    else
      read_reason(profile.reason);
    expect(']');
    if (!is_at_end()) wrong();
  }

 private:
  void read_reason(std::string& reason) {
    read(reason);
    if (reason.empty()) wrong();
  }

  void read_functions(std::vector<ProfiledFunction>& functions) {
    if (take(']')) return;  // no sample hit a function
    do {
      ProfiledFunction& each = functions.emplace_back();
      expect('[');
      read(each.name);
      expect(',');
      read(each.object);
      expect(',');
      each.samples = number();
      expect(',');
      each.weight = number();
      expect(']');
    } while (take(','));
    expect(']');
  }

  // Accepts digits only, without leading zeros.
  std::uint64_t number() {
    const std::string_view digits = number_ahead();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value > most ||
        (digits.size() > 1 && digits.front() == '0'))
      wrong();
    skip(digits);
    return value;
  }
};

}  // namespace

std::string profile_text(const Profile& profile) {
  if (!profile.is_wanted()) return "";
  std::string text;
  text.reserve(counters::bytes_of(profile));
  text += '[';
  add_text(text, profile.event);
  text += ',';
  add_text(text, profile.unit);
  text += ',';
  add(text, profile.hz);
  text += ',';
  add(text, profile.lost);
  text += ',';
  if (!profile.reason.empty()) {
    add_text(text, profile.reason);
  } else {
    text += '[';
    for (const ProfiledFunction& each : profile.functions) {
      if (text.back() == ']') text += ',';
      add(text, each);
    }
    text += ']';
  }
  return text + "]";
}

void read_profile_text(std::string_view text, Profile& profile) {
  if (text.empty())
    profile = {};
  else
    ProfileScanner(text).read_all(profile);
}

std::string node_list(const std::vector<Node>& nodes) {
  std::string text;
  for (const Node& node : nodes) {
    char before = text.empty() ? '[' : ',';
    text += std::exchange(before, '[');
    for (const std::string* each : {&node.name, &node.hardware, &node.trial_cpus}) {
      text += std::exchange(before, ',');
      add_text(text, *each);
    }
    if (node.times) add_real(text += ',', *node.times);
    text += ']';
  }
  return text.empty() ? "" : text + "]";
}

std::vector<Node> nodes_in(std::string_view text) {
  std::vector<Node> nodes;
  if (text.empty()) return nodes;
  ListScanner list("node_list", text);
  list.expect('[');
  do {
    Node& node = nodes.emplace_back();
    char before = '[';
    for (std::string* each : {&node.name, &node.hardware, &node.trial_cpus}) {
      list.expect(std::exchange(before, ','));
      list.read(*each);
    }
    if (list.take(',')) node.times = list.real();
    list.expect(']');
  } while (list.take(','));
  list.expect(']');
  if (!list.is_at_end()) list.wrong();
  return nodes;
}

}  // namespace stab::store
