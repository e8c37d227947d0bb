// SPDX-License-Identifier: MIT
// Tries any bytes as a formula, or as a pattern, a pointer or a field with a text to search.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/measures/formula.h"
#include "plan/measures/output.h"

namespace stab::plan {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_reading(const counters::Reading& reading) {
  require((reading.status == counters::Status::absent) == !reading.reason.empty());
  require(reading.status == counters::Status::absent || counters::is_finite(reading.value));
}

void check_formula(std::string_view text) {
  const auto formula = parse_formula(text);
  if (!formula) return require(formula.error().at >= 1 && !formula.error().message.empty());
  check_reading(evaluate("m", *formula, [](std::string_view name) {
    return name.size() % 2 == 0 ? counters::counted("", "", static_cast<std::int64_t>(name.size()))
                                : counters::counted("", "", 1.0 / static_cast<double>(name.size()));
  }));
}

// The first byte chooses between pattern, field and pointer, and the second one the match that
// counts. A line follows, and then the text.
void check_output(std::string_view data) {
  const std::size_t line = data.find('\n');
  if (line == std::string_view::npos || line < 2) return;
  OutputMeasure measure{.name = "m"};
  measure.pick = static_cast<Pick>(static_cast<unsigned char>(data[1]) % 6);
  if (data[0] == 'r')
    measure.regex = data.substr(2, line - 2);
  else if (data[0] == 'g')
    measure.google_benchmark = data.substr(1, line - 1);
  else
    measure.json = data.substr(1, line - 1);
  const Measured measured = read_output(measure, data.substr(line + 1));
  require(measured.reading || !measured.samples.empty());
  if (measured.reading) check_reading(*measured.reading);
  std::size_t bytes = 0;
  for (const counters::Samples& each : measured.samples) {
    require(each.values.empty() == !each.reason.empty());
    for (const double value : each.values) require(std::isfinite(value));
    bytes += counters::bytes_of(each);
  }
  require(bytes <= counters::most_sample_bytes);
}

}  // namespace
}  // namespace stab::plan

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('f'))
    stab::plan::check_formula(text.substr(1));
  else
    stab::plan::check_output(text);
  return 0;
}
