// SPDX-License-Identifier: MIT
#include "results/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "design/trial_list.h"
#include "plan/plan.h"
#include "plan/reading/read_plan.h"
#include "report/csv.h"
#include "results/trials.h"
#include "stats/causal/coz.h"
#include "stats/causal/run_text.h"
#include "store/records.h"
#include "toml/value.h"

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

// The names of exported columns are closed to measures, and stored plans may have measures with the
// names of later ones.
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

namespace {

// Finds the function of an export format by the format's name in the protocol.
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
        "--cell works only with --format coz: use this format without --json, or leave out --cell");
  return {};
}

Result<void> write_export(store::Reader& store, const store::Experiment& experiment,
                          const ExportAsked& asked, const Sink& sink) {
  if (auto known = check_export(asked); !known) return known;
  if (asked.format == "coz") return export_coz(store, experiment, asked.cell, sink);
  return find_export(asked.format)(store, experiment, sink);
}

// The formats below hold only trials that are measurements.

namespace {

Result<plan::Plan> plan_of(const store::Experiment& experiment) {
  auto plan = plan::read_plan(experiment.plan);
  if (!plan)
    return fail(fmt::format("this version of stabd does not accept the plan of experiment {}: {}",
                            experiment.id, toml::describe(plan.error(), "plan")));
  return *std::move(plan);
}

// Whether the trial is ok, is neither a warm-up nor a plain trial, and is the last attempt at its
// position.
bool is_measured(const store::Trial& trial) {
  return trial.last && !trial.warmup && !is_plain(trial) && trial.status == store::TrialStatus::ok;
}

// The trial's level of each treatment; random factors are left out.
std::map<std::string, std::string> treatments_of(const plan::Plan& plan,
                                                 const store::Trial& trial) {
  std::map<std::string, std::string> levels;
  for (const std::size_t index : plan::treatments(plan)) {
    const auto level = trial.levels.find(plan.factors[index].name);
    if (level != trial.levels.end()) levels.insert(*level);
  }
  return levels;
}

}  // namespace

// The format of 'hyperfine --export-json': one result for each cell, with the wall times of its
// trials in the order in which they ran.

namespace {

constexpr double ns_per_second = 1e9;

// The lists take 24 bytes per trial; the texts are stored once per cell.
struct Cell {
  std::string command{};
  std::string benchmark{};
  std::map<std::string, std::string> levels{};
  std::vector<std::int64_t> wall{};
  std::vector<std::int64_t> rss{};
  std::vector<std::optional<int>> codes{};
  // The sums over the cell's trials; absent if any trial lacks the value.
  std::optional<double> user = 0.0;
  std::optional<double> system = 0.0;
};

void add(Cell& cell, const store::Trial& trial) {
  cell.wall.push_back(*trial.wall_ns);
  cell.codes.push_back(trial.exit_code);
  if (trial.max_rss_bytes) cell.rss.push_back(*trial.max_rss_bytes);
  const auto add_to = [](std::optional<double>& sum, std::optional<std::int64_t> value) {
    sum = sum && value ? std::optional(*sum + static_cast<double>(*value)) : std::nullopt;
  };
  add_to(cell.user, trial.user_ns);
  add_to(cell.system, trial.system_ns);
}

std::string seconds(double ns) {
  return fmt::format("{}", ns / ns_per_second);
}

double median_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  const auto upper = static_cast<double>(*middle);
  if (values.size() % 2 == 1) return upper;
  return (upper + static_cast<double>(*std::max_element(values.begin(), middle))) / 2;
}

std::string summary_of(const Cell& cell) {
  const auto n = static_cast<double>(cell.wall.size());
  double mean = 0;
  for (const std::int64_t each : cell.wall) mean += static_cast<double>(each) / n;
  double squares = 0;
  for (const std::int64_t each : cell.wall)
    squares += (static_cast<double>(each) - mean) * (static_cast<double>(each) - mean);
  const auto [least, most] = std::ranges::minmax(cell.wall);
  const auto mean_of = [n](std::optional<double> sum) { return sum ? seconds(*sum / n) : "null"; };
  return fmt::format(
      "\"mean\":{},\"stddev\":{},\"median\":{},\"user\":{},\"system\":{},\"min\":{},\"max\":{}",
      seconds(mean), n < 2 ? "null" : seconds(std::sqrt(squares / (n - 1))),
      seconds(median_of(cell.wall)), mean_of(cell.user), mean_of(cell.system),
      seconds(static_cast<double>(least)), seconds(static_cast<double>(most)));
}

// Writes a list in pieces, so that its whole text is never in memory.
template <class T, class Write>
Result<void> write_list(const char* name, const std::vector<T>& values, const Write& write,
                        const Sink& sink) {
  std::string piece = fmt::format(",\"{}\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    piece += (i == 0 ? "" : ",") + write(values[i]);
    if (piece.size() < 60'000) continue;
    if (auto sunk = sink(piece); !sunk) return sunk;
    piece.clear();
  }
  return sink(piece + "]");
}

std::string parameters_of(const Cell& cell, bool several_benchmarks) {
  std::string text;
  const auto add_one = [&](const std::string& name, const std::string& level) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_string(name), json_string(level));
  };
  if (several_benchmarks) add_one("benchmark", cell.benchmark);
  for (const auto& [name, level] : cell.levels) add_one(name, level);
  return text.empty() ? "" : ",\"parameters\":{" + text + "}";
}

// The exit codes other than 0. All trials here are ok, so their plan accepts these codes; hyperfine
// would call them failures.
std::vector<std::optional<int>> not_zero(const std::vector<std::optional<int>>& codes) {
  std::set<std::optional<int>> others(codes.begin(), codes.end());
  others.erase(std::nullopt);
  others.erase(0);
  return {others.begin(), others.end()};
}

Result<void> write_cell(const Cell& cell, bool several_benchmarks, const Sink& sink) {
  if (auto sunk =
          sink(fmt::format("{{\"command\":{},{}", json_string(cell.command), summary_of(cell)));
      !sunk)
    return sunk;
  const auto time = [](std::int64_t ns) { return seconds(static_cast<double>(ns)); };
  if (auto sunk = write_list("times", cell.wall, time, sink); !sunk) return sunk;
  const auto bytes = [](std::int64_t each) { return std::to_string(each); };
  if (cell.rss.size() == cell.wall.size())
    if (auto sunk = write_list("memory_usage_byte", cell.rss, bytes, sink); !sunk) return sunk;
  const auto code = [](std::optional<int> each) { return each ? std::to_string(*each) : "null"; };
  if (auto sunk = write_list("exit_codes", cell.codes, code, sink); !sunk) return sunk;
  if (const std::vector<std::optional<int>> wanted = not_zero(cell.codes); !wanted.empty())
    if (auto sunk = write_list("accepted_exit_codes", wanted, code, sink); !sunk) return sunk;
  return sink(parameters_of(cell, several_benchmarks) + "}");
}

}  // namespace

Result<void> export_hyperfine(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  std::vector<Cell> cells;
  std::map<std::string, std::size_t> places;
  std::set<std::string> benchmarks;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial) || !trial.wall_ns) return true;
    const std::string command = cell_text(*plan, trial);
    const auto [place, fresh] = places.try_emplace(command, cells.size());
    if (fresh)
      cells.push_back({.command = command,
                       .benchmark = trial.benchmark,
                       .levels = treatments_of(*plan, trial)});
    benchmarks.insert(trial.benchmark);
    add(cells[place->second], trial);
    return true;
  });
  if (!read) return fail(read.error().message);
  if (cells.empty())
    return fail(
        fmt::format("no successful trial of experiment {} has a wall time, so there is nothing to "
                    "export in hyperfine's format",
                    experiment.id));
  if (auto sunk = sink("{\"results\":["); !sunk) return sunk;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (auto sunk = sink(i == 0 ? "\n" : ",\n"); !sunk) return sunk;
    if (auto sunk = write_cell(cells[i], benchmarks.size() > 1, sink); !sunk) return sunk;
  }
  return sink("\n]}\n");
}

// The text format of Go's benchmarks, which benchstat reads: one line for each trial, or for each
// benchmark that a trial measured.

namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

// Makes one word of the text; different texts give different words.
std::string escaped(std::string_view text, std::string_view also) {
  std::string word;
  for (const char c : text)
    if (c <= ' ' || c > '~' || c == '%' || also.contains(c))
      word += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      word += c;
  return word;
}

// Go's benchmark names have a capital letter after "Benchmark".
std::string capital(const std::string& name, const plan::Plan& plan) {
  if (name.empty() || !is_lower(name.front())) return name;
  std::string changed = name;
  changed.front() = static_cast<char>(changed.front() - 'a' + 'A');
  const std::string_view benchmark = std::string_view(changed).substr(0, changed.find('/'));
  const auto is_other = [&](const plan::Benchmark& each) { return each.name == benchmark; };
  return std::ranges::any_of(plan.benchmarks, is_other) ? "_" + name : changed;
}

// benchstat would read a number after the last hyphen as a count of CPUs.
bool ends_as_cpus(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  return digits != std::string::npos && digits + 1 < name.size() && name[digits] == '-';
}

std::string line_name(const plan::Plan& plan, const store::Trial& trial,
                      const std::string& subject) {
  std::string name = "Benchmark" + escaped(capital(subject, plan), "");
  for (const auto& [factor, level] : treatments_of(plan, trial))
    name += fmt::format("/{}={}", escaped(factor, "/"), escaped(level, "/"));
  return ends_as_cpus(name) ? name + "-1" : name;
}

std::string number_text(const counters::Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

// Times and memory of the whole trial, by their units in the output.
constexpr std::array times{std::pair{"ns/op", &store::Trial::wall_ns},
                           std::pair{"user-ns/op", &store::Trial::user_ns},
                           std::pair{"sys-ns/op", &store::Trial::system_ns},
                           std::pair{"peak-RSS-bytes", &store::Trial::max_rss_bytes}};
constexpr std::array<std::string_view, 5> own_responses{"wall", "user", "system", "cpu", "max_rss"};

bool is_own(const std::string& response) {
  return std::ranges::find(own_responses, response) != own_responses.end();
}

// "" if the trial has no number.
std::string metrics_of(const store::Trial& trial, const SubjectNumber& number,
                       const std::string& response) {
  std::string text;
  if (number.subject == trial.benchmark)
    for (const auto& [unit, member] : times)
      if (const auto& value = trial.*member) text += fmt::format(" {} {}", *value, unit);
  if (number.value && !is_own(response))
    text += fmt::format(" {} {}", number_text(*number.value), escaped(response, ""));
  return text;
}

std::string header(const store::Experiment& experiment, const plan::Plan& plan) {
  std::string text = fmt::format("goos: linux\ngoarch: amd64\npkg: {}\n",
                                 escaped(one_line(experiment.name, 200), ""));
  if (plan.analysis.higher_is_better)
    text += fmt::format("Unit {} better=higher\n", escaped(plan.analysis.response, ""));
  return text;
}

}  // namespace

Result<void> export_benchstat(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  const std::string& response = plan->analysis.response;
  Result<void> sunk = sink(header(experiment, *plan));
  if (!sunk) return sunk;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial)) return true;
    for (const SubjectNumber& each : numbers_of(trial, *plan, response)) {
      const std::string metrics = metrics_of(trial, each, response);
      if (metrics.empty()) continue;
      sunk = sink(line_name(*plan, trial, each.subject) + " 1" + metrics + "\n");
      if (!sunk) return false;
    }
    return true;
  });
  if (!read) return fail(read.error().message);
  return sunk;
}

// The runs of a causal plan as one profile in coz's format, in which each run begins with
// `startup`.

namespace {

Result<std::string> as_coz(const store::Trial& trial) {
  stats::causal::Profile profile;
  if (auto read = stats::causal::read_run(trial.causal, profile); !read)
    return fail(fmt::format("trial {}, attempt {}: {}", trial.position, trial.attempt,
                            read.error().message));
  return stats::causal::as_coz(profile);
}

std::string listed(const std::set<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", one_line(cell, 200));
  return text;
}

// The trials of at most one of these cells have been written.
Result<void> check_cells(const store::Experiment& experiment, const std::string& cell,
                         const std::set<std::string>& cells) {
  if (cells.empty())
    return fail(fmt::format(
        "no trial of experiment {} succeeded, so there is nothing to export in coz's format",
        experiment.id));
  if (cell.empty() && cells.size() > 1)
    return fail(
        fmt::format("experiment {} has several cells, and coz's format has no place for their "
                    "names: choose a cell with --cell: {}",
                    experiment.id, listed(cells)));
  if (!cell.empty() && !cells.contains(cell))
    return fail(
        fmt::format("experiment {} has no successful trial of a cell '{}'; with --cell, choose "
                    "a cell that has some: {}",
                    experiment.id, one_line(cell, 200), listed(cells)));
  return {};
}

}  // namespace

Result<void> export_coz(store::Reader& store, const store::Experiment& experiment,
                        const std::string& cell, const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  if (!plan->is_causal())
    return fail(
        fmt::format("experiment {} has no causal profile, and coz's format holds only causal "
                    "profiles: use a plan with design.kind = \"causal\"",
                    experiment.id));
  std::set<std::string> cells;
  Result<void> sunk;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial)) return true;
    const std::string name = cell_text(*plan, trial);
    cells.insert(name);
    if (cell.empty() ? cells.size() > 1 : name != cell) return true;
    const auto text = as_coz(trial);
    sunk = text ? sink(*text) : std::unexpected(text.error());
    return sunk.has_value();
  });
  if (!read) return fail(read.error().message);
  if (!sunk) return sunk;
  return check_cells(experiment, cell, cells);
}

}  // namespace stab::results
