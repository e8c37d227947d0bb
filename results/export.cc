// SPDX-License-Identifier: MIT
#include "results/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "plan/reading/reader.h"
#include "report/csv.h"
#include "results/trials.h"
#include "store/records.h"

namespace stab::results {
namespace {

// How JSON writes a value: as null, quoted or bare. CSV writes bare values unchanged, too, and
// quotes others by its own rules.
enum class Kind { none, text, bare };

// One row of the table. The next row reuses its cells.
class Cells {
 public:
  void begin() { count_ = 0; }
  void none() { next(Kind::none).clear(); }
  void text(std::string_view value) { next(Kind::text) = value; }
  void text(const std::string& value) { next(Kind::text) = value; }
  void flag(bool value) { next(Kind::bare) = value ? "true" : "false"; }
  template <class T>
  void number(T value) {
    const fmt::format_int digits(value);
    next(Kind::bare).assign(digits.data(), digits.size());
  }
  void number(double value) { next(Kind::bare) = fmt::format("{}", value); }
  // Most readers turn a number into a double, which cannot hold 64 bits, so this writes text.
  void wide(std::uint64_t value) { text(std::string_view(fmt::format_int(value).c_str())); }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Kind kind(std::size_t i) const { return cells_[i].kind; }
  [[nodiscard]] const std::string& at(std::size_t i) const { return cells_[i].value; }

 private:
  struct Cell {
    Kind kind = Kind::none;
    std::string value;
  };
  std::string& next(Kind kind) {
    if (count_ == cells_.size()) cells_.emplace_back();
    cells_[count_].kind = kind;
    return cells_[count_++].value;
  }

  std::vector<Cell> cells_;
  std::size_t count_ = 0;
};

template <class T>
void put(Cells& cells, const std::optional<T>& value) {
  if (value)
    cells.number(*value);
  else
    cells.none();
}
void put(Cells& cells, const std::optional<bool>& value) {
  if (value)
    cells.flag(*value);
  else
    cells.none();
}
void put(Cells& cells, const std::optional<std::uint64_t>& value) {
  if (value)
    cells.wide(*value);
  else
    cells.none();
}
void put(Cells& cells, const std::string& text) {
  cells.text(text);
}

void put(Cells& cells, bool flag) {
  cells.flag(flag);
}
void put(Cells& cells, std::uint64_t number) {
  cells.wide(number);
}
template <class T>
  requires std::is_integral_v<T>
void put(Cells& cells, T number) {
  cells.number(number);
}
void put(Cells& cells, store::TrialStatus status) {
  cells.text(store::to_string(status));
}

void add_names(store::Exported where, std::vector<std::string>& names) {
  store::for_each_trial_column([&](const auto& column) {
    if (column.exported == where) names.emplace_back(column.name);
  });
}
void write_columns(store::Exported where, const store::Trial& trial, Cells& cells) {
  store::for_each_trial_column([&](const auto& column) {
    if (column.exported == where) put(cells, trial.*column.member);
  });
}

// The names of exported columns are closed to measures, and stored plans may have measures with the names of later ones.
bool is_exported(const store::LayoutColumn& column) {
  constexpr int last_exported = 11;
  return column.since <= last_exported;
}

// Decides which columns a table has.
struct Columns {
  store::Reader::Names names;
  bool node = false;
};

// Trials of plans with [machines] have their node, unless a factor has that name.
bool has_node(const store::Experiment& experiment, const store::Reader::Names& names) {
  const auto plan = plan::read_plan(experiment.plan);
  return plan && plan->machines && std::ranges::find(names.factors, "node") == names.factors.end();
}

std::vector<std::string> columns_of(const Columns& all) {
  const store::Reader::Names& names = all.names;
  std::vector<std::string> columns;
  add_names(store::Exported::before_factors, columns);
  for (const std::string& factor : names.factors) columns.push_back(factor);
  add_names(store::Exported::after_factors, columns);
  store::for_each_layout_column([&](const store::LayoutColumn& column, auto) {
    if (is_exported(column)) columns.emplace_back(column.name);
  });
  if (all.node) columns.emplace_back("node");
  for (const std::string& name : names.readings) {
    columns.push_back(name);
    columns.push_back(name + ".status");
  }
  return columns;
}

// Tries `place` first: most trials have the same readings in the same places.
const counters::Reading* reading_of(const store::Trial& trial, const std::string& name,
                                    std::size_t place) {
  if (place < trial.readings.size() && trial.readings[place].name == name)
    return &trial.readings[place];
  const auto found = std::ranges::find(trial.readings, name, &counters::Reading::name);
  return found == trial.readings.end() ? nullptr : &*found;
}

void write_reading(const counters::Reading* found, Cells& cells) {
  if (found == nullptr || found->status == counters::Status::absent)
    cells.none();
  else
    std::visit([&cells](auto value) { cells.number(value); }, found->value);
  if (found == nullptr)
    cells.none();
  else
    cells.text(counters::to_string(found->status));
}

// Writes the cells that every row begins with.
void write_place(const store::Reader::Names& names, const store::Trial& trial, Cells& cells) {
  cells.begin();
  write_columns(store::Exported::before_factors, trial, cells);
  for (const std::string& factor : names.factors) {
    const auto level = trial.levels.find(factor);
    if (level == trial.levels.end())
      cells.none();
    else
      cells.text(level->second);
  }
}

// Writes cells in the order of columns_of().
void write_row(const Columns& columns, const store::Trial& trial, Cells& cells) {
  const store::Reader::Names& names = columns.names;
  write_place(names, trial, cells);
  write_columns(store::Exported::after_factors, trial, cells);
  store::for_each_layout_column([&](const store::LayoutColumn& column, auto member) {
    if (is_exported(column)) put(cells, trial.layout.*member);
  });
  if (columns.node) put(cells, trial.node);
  for (std::size_t i = 0; i < names.readings.size(); ++i)
    write_reading(reading_of(trial, names.readings[i], i), cells);
}

std::vector<std::string> sample_columns_of(const store::Reader::Names& names) {
  std::vector<std::string> columns;
  add_names(store::Exported::before_factors, columns);
  for (const std::string& factor : names.factors) columns.push_back(factor);
  for (const char* name :
       {"trial_status", "measure", "subject", "unit", "ordinal", "value", "reason"})
    columns.emplace_back(name);
  return columns;
}

// Writes cells in the order of sample_columns_of(). Without an ordinal, the samples are absent.
void write_sample(const store::Reader::Names& names, const store::Trial& trial,
                  const counters::Samples& samples, std::optional<std::size_t> ordinal,
                  Cells& cells) {
  write_place(names, trial, cells);
  cells.text(store::to_string(trial.status));
  for (const std::string* text : {&samples.measure, &samples.subject, &samples.unit})
    cells.text(*text);
  if (ordinal) {
    cells.number(*ordinal);
    cells.number(samples.values[*ordinal]);
  } else {
    cells.none();
    cells.none();
  }
  cells.text(samples.reason);
}

// A column of the table and the cell that it shows.
struct Shown {
  std::string name;
  std::string key;  // the name in JSON, with quotes and a colon
  std::size_t cell = 0;
};

// A reading may have the name of one of our columns. If columns share a name, the last value
// counts.
std::vector<Shown> shown_columns(const std::vector<std::string>& columns) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto same = std::ranges::find(shown, columns[i], &Shown::name);
    if (same != shown.end())
      same->cell = i;
    else
      shown.push_back({.name = columns[i], .key = json_string(columns[i]) + ":", .cell = i});
  }
  return shown;
}

std::string csv_header(const std::vector<Shown>& columns) {
  std::vector<std::string> names;
  for (const Shown& column : columns) names.push_back(column.name);
  return report::csv_line(names);
}

std::string csv_row(const std::vector<Shown>& columns, const Cells& cells) {
  std::string line;
  for (const Shown& column : columns) {
    if (&column != &columns.front()) line += ',';
    const std::string& value = cells.at(column.cell);
    line += cells.kind(column.cell) == Kind::bare ? value : report::csv_cell(value);
  }
  return line + "\r\n";
}

std::string json_row(const std::vector<Shown>& columns, const Cells& cells) {
  std::string object = "{";
  for (const Shown& column : columns) {
    if (&column != &columns.front()) object += ',';
    object += column.key;
    const std::string& value = cells.at(column.cell);
    const Kind kind = cells.kind(column.cell);
    object += kind == Kind::none ? "null" : kind == Kind::text ? json_string(value) : value;
  }
  return object + "}";
}

// The table to export: its columns, and a function that writes the rows of a trial.
struct Table {
  std::vector<Shown> columns;
  // Fills `cells` and calls `row` for each row of the trial; returns false if `row` wants no more
  // rows.
  std::function<bool(const store::Trial& trial, Cells& cells, const std::function<bool()>& row)>
      write;
};

Table table_of_trials(const Columns& columns) {
  return {.columns = shown_columns(columns_of(columns)),
          .write = [columns](const store::Trial& trial, Cells& cells, const auto& row) {
            write_row(columns, trial, cells);
            return row();
          }};
}

Table table_of_samples(const Columns& columns) {
  const store::Reader::Names& names = columns.names;
  return {.columns = shown_columns(sample_columns_of(names)),
          .write = [names](const store::Trial& trial, Cells& cells, const auto& row) {
            for (const counters::Samples& samples : trial.samples) {
              for (std::size_t i = 0; i < samples.values.size(); ++i) {
                write_sample(names, trial, samples, i, cells);
                if (!row()) return false;
              }
              if (!samples.values.empty()) continue;
              write_sample(names, trial, samples, std::nullopt, cells);
              if (!row()) return false;
            }
            return true;
          }};
}

using MakeTable = Table (*)(const Columns& columns);

Result<void> write_csv(store::Reader& store, const store::Experiment& experiment,
                       const MakeTable& make_table, const Sink& sink) {
  const auto names = store.names(experiment.id);
  if (!names) return fail(names.error().message);
  const Table table = make_table({.names = *names, .node = has_node(experiment, *names)});
  Result<void> sunk = sink(csv_header(table.columns));
  if (!sunk) return sunk;
  Cells cells;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    return table.write(trial, cells, [&] {
      sunk = sink(csv_row(table.columns, cells));
      return sunk.has_value();
    });
  });
  if (!read) return fail(read.error().message);
  return sunk;
}

Result<void> write_json(store::Reader& store, const store::Experiment& experiment,
                        const MakeTable& make_table, const Sink& sink) {
  const auto names = store.names(experiment.id);
  if (!names) return fail(names.error().message);
  const Table table = make_table({.names = *names, .node = has_node(experiment, *names)});
  bool first = true;
  Result<void> sunk = sink("[");
  if (!sunk) return sunk;
  Cells cells;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    return table.write(trial, cells, [&] {
      sunk = sink((std::exchange(first, false) ? "\n" : ",\n") + json_row(table.columns, cells));
      return sunk.has_value();
    });
  });
  if (!read) return fail(read.error().message);
  if (!sunk) return sunk;
  return sink("\n]\n");
}

}  // namespace

Result<void> export_csv(store::Reader& store, const store::Experiment& experiment,
                        const Sink& sink) {
  return write_csv(store, experiment, table_of_trials, sink);
}

Result<void> export_json(store::Reader& store, const store::Experiment& experiment,
                         const Sink& sink) {
  return write_json(store, experiment, table_of_trials, sink);
}

Result<void> export_samples_csv(store::Reader& store, const store::Experiment& experiment,
                                const Sink& sink) {
  return write_csv(store, experiment, table_of_samples, sink);
}

Result<void> export_samples_json(store::Reader& store, const store::Experiment& experiment,
                                 const Sink& sink) {
  return write_json(store, experiment, table_of_samples, sink);
}

// Finds the function for each export format by the format's name in the protocol.

namespace {

Export* find_export(std::string_view format) {
  static constexpr std::array<std::pair<std::string_view, Export*>, 6> exports{
      {{"csv", export_csv},
       {"json", export_json},
       {"samples", export_samples_csv},
       {"samples-json", export_samples_json},
       {"hyperfine", export_hyperfine},
       {"benchstat", export_benchstat}}};
  const auto found =
      std::ranges::find(exports, format, [](const auto& each) { return each.first; });
  return found == exports.end() ? nullptr : found->second;
}

}  // namespace

Result<void> check_export(const ExportAsked& asked) {
  if (asked.format == "coz") return {};
  if (find_export(asked.format) == nullptr)
    return fail(
        fmt::format("there is no export format '{}': the formats are csv, json, samples, "
                    "samples-json, hyperfine, benchstat, coz and archive",
                    one_line(asked.format, 50)));
  if (!asked.cell.empty())
    return fail(
        "--cell works only with --format coz and without --json: leave out --cell or --json");
  return {};
}

Result<void> write_export(store::Reader& store, const store::Experiment& experiment,
                          const ExportAsked& asked, const Sink& sink) {
  if (auto known = check_export(asked); !known) return known;
  if (asked.format == "coz") return export_coz(store, experiment, asked.cell, sink);
  return find_export(asked.format)(store, experiment, sink);
}

}  // namespace stab::results
