// SPDX-License-Identifier: MIT

#include "store/rows/row.h"

#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/hash.h"
#include "store/exceptions.h"
#include "store/records.h"
#include "store/rows/lists.h"

namespace stab::store {

std::string ChecksumText::piece(std::string_view text) {
  return fmt::format("{}:{}", text.size(), text);
}

void ChecksumText::begin(std::string_view table) {
  text_.clear();
  add_piece(table);
}

void ChecksumText::add_piece(std::string_view bytes) {
  const fmt::format_int length(bytes.size());
  text_.append(length.data(), length.size());
  text_ += ':';
  text_ += bytes;
}

void ChecksumText::add(std::int64_t value) {
  text_ += "1:i";
  const fmt::format_int digits(value);
  add_piece({digits.data(), digits.size()});
}

void ChecksumText::add(double value) {
  text_ += "1:r";
  const fmt::format_int digits(std::bit_cast<std::uint64_t>(value));
  add_piece({digits.data(), digits.size()});
}

void ChecksumText::add(std::string_view value) {
  text_ += "1:t";
  add_piece(value);
}

std::int64_t ChecksumText::value() const {
  return std::bit_cast<std::int64_t>(sha256_word(text_));
}

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
  refuse(fmt::format("the column {} is not text", column));
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

std::int64_t Row::bytes() const {
  std::int64_t bytes = bytes_of_numbers;
  for (const auto& [column, value] : values_)
    if (const auto* text = std::get_if<std::string>(&value))
      bytes += static_cast<std::int64_t>(text->size());
  return bytes;
}

namespace {

// SQLite has no unsigned 64-bit integers, so the same bits are stored as a signed one.
std::int64_t to_signed(std::uint64_t value) {
  return std::bit_cast<std::int64_t>(value);
}
std::uint64_t to_unsigned(std::int64_t value) {
  return std::bit_cast<std::uint64_t>(value);
}

std::uint32_t small(const Row& row, std::string_view column) {
  return static_cast<std::uint32_t>(row.integer(column));
}

std::optional<std::uint32_t> optional_small(const Row& row, std::string_view column) {
  const auto value = row.optional_integer(column);
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

template <class T>
std::optional<std::int64_t> widened(std::optional<T> value) {
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

void set(Row& row, std::string_view column, const std::string& text) {
  row.set_unless_empty(column, text);
}
void set(Row& row, std::string_view column, const std::optional<std::uint64_t>& number) {
  row.set(column, number ? std::optional(to_signed(*number)) : std::nullopt);
}
template <class T>
void set(Row& row, std::string_view column, const std::optional<T>& number) {
  row.set(column, widened(number));
}

template <class T>
  requires std::is_integral_v<T>
void set_column(Row& row, std::string_view column, T number) {
  row.set(column, static_cast<std::int64_t>(number));
}
template <class T>
void set_column(Row& row, std::string_view column, const std::optional<T>& number) {
  row.set(column, widened(number));
}
void set_column(Row& row, std::string_view column, TrialStatus status) {
  row.set(column, to_string(status));
}
void set_column(Row& row, std::string_view column, const std::string& text) {
  row.set(column, text);
}

void add_layout(const Layout& layout, Row& row) {
  for_each_layout_column(
      [&](const LayoutColumn& column, auto member) { set(row, column.name, layout.*member); });
}

// An experiment without a cause ran all of its trials, or has not ended.
std::optional<StopCause> cause_in(const Row& row) {
  const std::string text = row.text_or_empty("stopped_by");
  const auto cause = stop_cause(text);
  if (!cause && !text.empty())
    refuse(fmt::format(
        "the column 'stopped_by' holds the unknown value {}; use the stabd that wrote the database",
        text));
  return cause;
}

std::optional<Quietness> quietness_in(const Row& row) {
  const std::string text = row.text_or_empty("quietness");
  const auto quietness = quietness_named(text);
  if (!quietness && !text.empty())
    refuse(fmt::format(
        "the column 'quietness' holds the unknown value {}; use the stabd that wrote the database",
        text));
  return quietness;
}

template <class Status>
Status known(std::optional<Status> status, const Row& row) {
  if (!status)
    refuse(fmt::format("the status {} is unknown; use the stabd that wrote the database",
                       row.text("status")));
  return *status;
}

}  // namespace

Row to_row(const Machine& machine) {
  Row row;
  row.set("key", machine.key);
  row.set("host", machine.host);
  row.set("facts", machine.facts);
  return row;
}

Machine to_machine(const Row& row) {
  return {.key = row.text("key"), .host = row.text("host"), .facts = row.text("facts")};
}

Row to_row(const Experiment& experiment) {
  Row row;
  row.set("name", experiment.name);
  row.set("plan", experiment.plan);
  row.set("directory", experiment.directory);
  row.set("uid", std::int64_t{experiment.uid});
  row.set("gid", std::int64_t{experiment.gid});
  row.set("state", experiment.state);
  row.set("reason", experiment.reason);
  row.set("submitted_ns", experiment.submitted_ns);
  row.set_unless(0, "started_ns", experiment.started_ns);
  row.set_unless(0, "ended_ns", experiment.ended_ns);
  row.set("trials", to_signed(experiment.trials));
  row.set_unless(0, "machine", experiment.machine);
  row.set("duration_ns", experiment.duration_ns);
  row.set_unless(0, "priority", experiment.priority);
  row.set("held_by", widened(experiment.held_by));
  row.set_unless_empty("stopped_by",
                       experiment.stopped_by ? to_string(*experiment.stopped_by) : "");
  row.set_unless_empty("trial_cpus", experiment.trial_cpus);
  row.set_unless_empty("quietness", experiment.quietness ? to_string(*experiment.quietness) : "");
  row.set_unless_empty("source_branch", experiment.source_branch);
  row.set_unless_empty("source_commit", experiment.source_commit);
  row.set_unless_empty("node_list", node_list(experiment.nodes));
  row.set_unless_empty("heap_layer", experiment.heap_layer);
  return row;
}

Experiment to_experiment(const Row& row) {
  return {.id = row.integer("id"),
          .name = row.text("name"),
          .plan = row.text("plan"),
          .directory = row.text("directory"),
          .uid = small(row, "uid"),
          .gid = small(row, "gid"),
          .state = row.text("state"),
          .reason = row.text("reason"),
          .submitted_ns = row.integer("submitted_ns"),
          .started_ns = row.optional_integer("started_ns").value_or(0),
          .ended_ns = row.optional_integer("ended_ns").value_or(0),
          .trials = to_unsigned(row.integer("trials")),
          .machine = row.optional_integer("machine").value_or(0),
          .duration_ns = row.optional_integer("duration_ns"),
          .priority = row.optional_integer("priority").value_or(0),
          .held_by = optional_small(row, "held_by"),
          .stopped_by = cause_in(row),
          .trial_cpus = row.text_or_empty("trial_cpus"),
          .quietness = quietness_in(row),
          .source_branch = row.text_or_empty("source_branch"),
          .source_commit = row.text_or_empty("source_commit"),
          .nodes = nodes_in(row.text_or_empty("node_list")),
          .heap_layer = row.text_or_empty("heap_layer")};
}

Row to_row(const Build& build) {
  Row row;
  row.set("experiment", build.experiment);
  row.set("key", build.key);
  row.set("benchmark", build.benchmark);
  row.set("command", build.command);
  row.set("status", to_string(build.status));
  row.set("binary_sha256", build.binary_sha256);
  row.set("output", build.output);
  row.set("duration_ns", build.duration_ns);
  return row;
}

Build to_build(const Row& row) {
  return {.experiment = row.integer("experiment"),
          .key = row.text("key"),
          .benchmark = row.text("benchmark"),
          .command = row.text("command"),
          .status = known(build_status(row.text("status")), row),
          .binary_sha256 = row.text("binary_sha256"),
          .output = row.text("output"),
          .duration_ns = row.integer("duration_ns")};
}

Row to_row(const Trial& trial) {
  Row row;
  for_each_trial_column(
      [&](const auto& column) { set_column(row, column.name, trial.*column.member); });
  row.set("levels", nlohmann::json(trial.levels).dump());
  add_layout(trial.layout, row);
  row.set("readings", static_cast<std::int64_t>(trial.readings.size()));
  row.set_unless_empty("reading_list", reading_list(trial.readings));
  row.set_unless_empty("sample_list", sample_list(trial.samples));
  row.set_unless_empty("profile", profile_text(trial.profile));
  row.set_unless_empty("causal", trial.causal);
  row.set_unless_empty("node", trial.node);
  return row;
}

Row to_row(const Calibration& calibration) {
  Row row;
  row.set("machine", calibration.machine);
  row.set_unless(0, "experiment", calibration.experiment);
  row.set("name", calibration.name);
  row.set("at_ns", calibration.at_ns);
  row.set("scope", to_string(calibration.scope));
  row.set("benchmark", calibration.benchmark);
  row.set("response", calibration.response);
  row.set("alpha", calibration.alpha);
  row.set("blocks", calibration.blocks);
  row.set("benchmarks", calibration.benchmarks);
  row.set("comparisons", calibration.comparisons);
  row.set("significant", calibration.significant);
  row.set("margin", calibration.margin);
  row.set("margin_low", calibration.margin_low);
  row.set("margin_high", calibration.margin_high);
  return row;
}

Calibration to_calibration(const Row& row) {
  const auto scope = calibration_scope(row.text("scope"));
  if (!scope)
    refuse(fmt::format(
        "the column 'scope' holds the unknown value {}; use the stabd that wrote the database",
        row.text("scope")));
  return {.machine = row.integer("machine"),
          .experiment = row.optional_integer("experiment").value_or(0),
          .name = row.text("name"),
          .at_ns = row.integer("at_ns"),
          .scope = *scope,
          .benchmark = row.text("benchmark"),
          .response = row.text("response"),
          .alpha = row.real("alpha"),
          .blocks = row.integer("blocks"),
          .benchmarks = row.integer("benchmarks"),
          .comparisons = row.integer("comparisons"),
          .significant = row.integer("significant"),
          .margin = row.optional_real("margin"),
          .margin_low = row.optional_real("margin_low"),
          .margin_high = row.optional_real("margin_high")};
}

Row to_row(const Event& event) {
  Row row;
  row.set_unless(0, "experiment", event.experiment);
  row.set("at_ns", event.at_ns);
  row.set("kind", event.kind);
  row.set("text", event.text);
  return row;
}

Event to_event(const Row& row) {
  return {.experiment = row.optional_integer("experiment").value_or(0),
          .at_ns = row.integer("at_ns"),
          .kind = row.text("kind"),
          .text = row.text("text")};
}

}  // namespace stab::store
