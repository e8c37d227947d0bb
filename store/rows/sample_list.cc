// SPDX-License-Identifier: MIT
#include "store/rows/sample_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "store/rows/list_text.h"

namespace stab::store {
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

}  // namespace stab::store
