// SPDX-License-Identifier: MIT
#include "client/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "plan/measures/google_benchmark.h"
#include "plan/plan.h"

namespace stab::client::foreign {
namespace {

using nlohmann::json;

// Reads only the outermost names, and stops at the first one that identifies the tool.
class Outermost : public nlohmann::json_sax<json> {
 public:
  std::optional<Format> found;
  std::optional<std::size_t> broken;  // the byte at which the JSON is invalid

  bool null() override { return true; }
  bool boolean(bool /*truth*/) override { return true; }
  bool number_integer(std::int64_t /*number*/) override { return true; }
  bool number_unsigned(std::uint64_t /*number*/) override { return true; }
  bool number_float(double /*number*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*text*/) override { return true; }
  bool binary(json::binary_t& /*bytes*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool key(std::string& name) override {
    if (depth_ == 1 && name == "results") found = Format::hyperfine;
    // Google Benchmark writes the context first. The rest may hold NaN, which is not valid JSON, so
    // stop here.
    if (depth_ == 1 && (name == "benchmarks" || name == "context"))
      found = Format::google_benchmark;
    return !found;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    broken = position;
    return false;
  }

 private:
  int depth_ = 0;
};

}  // namespace

Result<Format> format_of(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return Format::csv;
  Outermost names;
  json::sax_parse(text, &names);
  if (names.found) return *names.found;
  if (names.broken)
    return wrong_call(
        fmt::format("the file begins like JSON, but the JSON is invalid at byte {}; if the file is "
                    "a table, use --input-format csv",
                    *names.broken));
  return wrong_call(
      "the file is JSON, but not from hyperfine (--export-json) or Google Benchmark "
      "(--benchmark_out_format=json)");
}

Result<Format> format_named(std::string_view name) {
  if (name == "csv") return Format::csv;
  if (name == "hyperfine") return Format::hyperfine;
  if (name == "google-benchmark") return Format::google_benchmark;
  return fail(fmt::format("'{}' is not a format: use csv, hyperfine or google-benchmark",
                          one_line(name, 40)));
}

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

namespace {

constexpr std::string_view how = "the file was not written by 'hyperfine --export-json FILE'";

// A list in the file with one value for each run.
struct Field {
  std::string_view response;
  const char* name;  // the list's name in the file
  double factor;
  stats::Unit unit;
};
constexpr std::array fields{
    Field{.response = "time", .name = "times", .factor = 1e9, .unit = stats::Unit::nanoseconds},
    Field{.response = "memory_usage_byte",
          .name = "memory_usage_byte",
          .factor = 1,
          .unit = stats::Unit::bytes}};

const json* list_of(const json& result, const char* name) {
  const auto found = result.find(name);
  return found != result.end() && found->is_array() ? &*found : nullptr;
}

Result<Field> field_of(const std::string& response) {
  if (response.empty()) return fields.front();
  const auto found = std::ranges::find(fields, response, &Field::response);
  if (found != fields.end()) return *found;
  return wrong_call(fmt::format(
      "hyperfine's files have no {} for individual runs: use --metric time or memory_usage_byte",
      one_line(response, 60)));
}

class Reader {
 public:
  explicit Reader(Field field) : field_(field) {}

  Result<Measured> read(const json& file) {
    const auto results = file.find("results");
    if (results == file.end() || !results->is_array())
      return fail(fmt::format("there is no list of results: {}", how));
    if (results->empty()) return fail("the file has no results: no command was measured");
    for (const json& result : *results)
      if (auto added = add(result); !added) return std::unexpected(added.error());
    measured_.response = field_.response;
    measured_.unit = field_.unit;
    if (unchecked_ > 0)
      measured_.notes.push_back(
          fmt::format("For {} of the commands, the file has no exit codes, so failed runs cannot "
                      "be recognized.",
                      unchecked_));
    return std::move(measured_);
  }

 private:
  Result<void> add(const json& result) {
    ++place_;
    if (!result.is_object()) return wrong("it is not an object");
    Runs runs;
    const auto command = result.find("command");
    if (command == result.end() || !command->is_string()) return wrong("it has no command");
    runs.name = command->get<std::string>();
    if (runs.name.empty()) return wrong("its command is empty");
    if (const int same = ++called_[runs.name]; same > 1)
      return fail(
          fmt::format("result {}: the command '{}' is also the command of another result; use "
                      "hyperfine's --command-name to tell them apart",
                      place_, one_line(runs.name, 80)));
    if (auto read = read_parameters(result, runs); !read) return read;
    if (auto read = read_values(result, runs); !read) return read;
    measured_.all.push_back(std::move(runs));
    return {};
  }

  Result<void> read_parameters(const json& result, Runs& runs) const {
    const auto parameters = result.find("parameters");
    if (parameters == result.end() || parameters->is_null()) return {};
    if (!parameters->is_object()) return wrong("'parameters' is not an object");
    for (const auto& [name, value] : parameters->items()) {
      if (name.empty() || value.is_structured())
        return wrong(
            fmt::format("the parameter '{}' needs a name and a plain value", one_line(name, 60)));
      std::string level = value.is_string() ? value.get<std::string>() : value.dump();
      runs.parameters.emplace_back(name, std::move(level));
    }
    return {};
  }

  Result<void> read_values(const json& result, Runs& runs) {
    const json* const values = list_of(result, field_.name);
    if (values == nullptr || values->empty())
      return fail(
          fmt::format("result {}: '{}' does not have a value for each run (a mean is not enough): "
                      "use a newer hyperfine with --export-json, or --metric time",
                      place_, field_.name));
    const json* const codes = list_of(result, "exit_codes");
    if (codes == nullptr)
      ++unchecked_;
    else if (codes->size() != values->size())
      return wrong(fmt::format("there are {} values of '{}', but {} exit codes", values->size(),
                               field_.name, codes->size()));
    // stabd's exports list the other exit codes that the plan accepts.
    const json* const accepted = list_of(result, "accepted_exit_codes");
    const auto is_good = [accepted](const json& code) {
      // A run that was ended by a signal has null instead of a code.
      if (!code.is_number_integer()) return false;
      return code == 0 || (accepted != nullptr &&
                           std::find(accepted->begin(), accepted->end(), code) != accepted->end());
    };
    for (std::size_t i = 0; i < values->size(); ++i) {
      const double value =
          (*values)[i].is_number() ? (*values)[i].get<double>() * field_.factor : -1;
      if (!std::isfinite(value) || value < 0)
        return wrong(
            fmt::format("value {} of '{}' is negative or not a number", i + 1, field_.name));
      if (codes != nullptr && !is_good((*codes)[i]))
        ++runs.failed;
      else
        runs.values.push_back(value);
    }
    if (runs.values.empty()) runs.reason = "all of its runs failed";
    return {};
  }

  [[nodiscard]] std::unexpected<Error> wrong(const std::string& what) const {
    return fail(fmt::format("result {}: {}: {}", place_, what, how));
  }

  Field field_;
  Measured measured_;
  std::size_t place_ = 0;  // the result's number, from 1
  std::size_t unchecked_ = 0;
  std::map<std::string, int> called_;
};

}  // namespace

Result<Measured> read_hyperfine(std::string_view text, const std::string& response) {
  if (text.size() > most_bytes)
    return fail(fmt::format("it is larger than {}", format_bytes(most_bytes)));
  const auto field = field_of(response);
  if (!field) return std::unexpected(field.error());
  try {
    const json file = json::parse(text);
    if (!file.is_object()) return fail(std::string(how));
    return Reader(*field).read(file);
  } catch (const json::parse_error& error) {
    return fail(fmt::format("the JSON is invalid at byte {}: {}", error.byte, how));
  } catch (const json::exception&) {
    return fail(fmt::format("a number in the file is too large: {}", how));
  }
}

}  // namespace stab::client::foreign
