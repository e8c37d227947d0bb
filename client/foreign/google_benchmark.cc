// SPDX-License-Identifier: MIT
#include "plan/measures/google_benchmark.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "client/foreign/measured.h"
#include "plan/plan.h"

namespace stab::client::foreign {

Result<Measured> read_google_benchmark(std::string_view text, const std::string& response) {
  if (text.size() > most_bytes)
    return fail(fmt::format("it is larger than {}", format_bytes(most_bytes)));
  const std::string field = response.empty() ? "real_time" : response;
  plan::OutputMeasure measure;
  measure.name = field;
  measure.google_benchmark = field;
  // The number of samples needs no other bound than the size of the text.
  auto found = plan::google_benchmarks(measure, text, std::numeric_limits<std::size_t>::max() / 2);
  if (!found) return fail(found.error());
  Measured measured{
      .response = field,
      .unit = plan::is_google_time(field) ? stats::Unit::nanoseconds : stats::Unit::number,
      .host = std::move(found->host)};
  if (found->aggregates > 0)
    measured.notes.push_back(fmt::format(
        "Left out: {} rows that Google Benchmark computed from other rows.", found->aggregates));
  if (found->lacking > 0)
    measured.notes.push_back(
        fmt::format("Left out: {} rows without {}.", found->lacking, one_line(field, 60)));
  for (counters::Samples& each : found->samples)
    measured.all.push_back({.name = std::move(each.subject),
                            .values = std::move(each.values),
                            .failed = each.reason.empty() ? std::size_t{0} : std::size_t{1},
                            .reason = std::move(each.reason)});
  return measured;
}

}  // namespace stab::client::foreign
