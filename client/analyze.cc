// SPDX-License-Identifier: MIT

#include "client/analyze.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "client/foreign.h"
#include "client/streams.h"
#include "design/fractional.h"
#include "design/trial_list.h"
#include "report/json.h"
#include "report/text.h"
#include "stats/analyse/analyse.h"
#include "stats/analyse/paper.h"
#include "stats/data/csv.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "stats/numbers/decimal.h"
#include "stats/verdicts/decide.h"

namespace stab::client {
namespace {

// The functions that are declared here read facts about a table from the table itself: which rows
// of our own export are measurements, and which design is behind the table.

// The output of 'stabctl export --format csv' has a row for each attempt at a trial; not every
// attempt is a measurement. Recognizes an export by the names of its columns.
bool is_own_export(std::string_view text);

// Whether the table is one of samples, which 'stabctl export --samples' writes.
bool has_samples(std::string_view text);

// Leaves out warm-ups, plain trials and attempts that were repeated, counts trials without success
// as lost, and sorts by the start time unless the user chose another order. A column that is a
// factor or the response leaves nothing out.
void ask_for_own_data(std::string_view text, stats::CsvColumns& columns);

// "Left out: 16 rows of stabd's export (12 of warm-up trials, ...)."; "" if no row was left out.
std::string own_rows_left_out(const stats::CsvColumns& columns,
                              std::span<const std::size_t> left_out);

// If the table has a regular fraction of the cells of treatments with two levels each, records
// which effects cannot be distinguished. Uses `generators` if there are any, or else finds them in
// the table.
Result<void> set_fraction(const std::vector<std::string>& generators, const stats::Dataset& data,
                          stats::Spec& spec, std::vector<std::string>& notes);
// Sets whether the cells of a nested design have their own seeds ("nested") or share them
// ("crossed": seeds are then blocks). "auto" means nested, but is an error if cells share a seed,
// because the table does not say which of the two is meant.
Result<void> set_seeds(const std::string& seeds_are, const stats::Dataset& data, stats::Spec& spec);

// Fails if a column has more than one role.
Result<void> check_roles(const AnalyzeOptions& options) {
  std::set<std::string> seen{options.response};
  std::vector<std::string> others = options.factors;
  for (const std::string* name : {&options.block, &options.subject, &options.machine,
                                  &options.machine_kind, &options.random, &options.order})
    if (!name->empty()) others.push_back(*name);
  for (const std::string& name : others)
    if (!seen.insert(name).second)
      return wrong_call(
          fmt::format("the column {} is named twice, but it can have only one role: response, "
                      "factor, block, subject, machine, kind of machine, random or order",
                      one_line(name, 60)));
  return {};
}

std::string plural(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void add_row_notes(const stats::CsvData& csv, const stats::CsvColumns& columns,
                   std::vector<std::string>& notes) {
  if (std::string note = own_rows_left_out(columns, csv.left_out); !note.empty())
    notes.push_back(std::move(note));
  if (csv.incomplete > 0)
    notes.push_back(fmt::format("Left out: {} in which the column of a factor is empty.",
                                plural(csv.incomplete, "row")));
  if (csv.ties > 0)
    notes.push_back(
        fmt::format("In {}, the column {} has the same value as in another row; rows with the same "
                    "value stay in the order of the file.",
                    plural(csv.ties, "row"), columns.order));
}

std::string title_of(const std::vector<std::string>& files) {
  return fmt::format("{}", fmt::join(files, ", "));
}

std::string rendered(const AnalyzeOptions& options, const stats::Analysis& analysis,
                     std::size_t rows) {
  if (options.json) return report::analysis_json(title_of(options.files), analysis);
  const std::string title = fmt::format("{}, {}", title_of(options.files), plural(rows, "trial"));
  const auto width = options.output.empty() ? terminal_width() : std::nullopt;
  return report::analysis_text(title, analysis,
                               {.colour = options.output.empty() && wants_colour(),
                                .full = options.full,
                                .width = report::fitting(width.value_or(report::page_width))});
}

// Refuses options that the procedure of 2013 does not use. With --subject, the comparison over all
// programs uses the average and the margin.
Result<void> check_paper(const AnalyzeOptions& options) {
  if (options.method != "stabilizer") return {};
  if (options.scale == "log")
    return wrong_call("--method stabilizer compares values without logarithms: leave --log out");
  if (options.error == "pooled")
    return wrong_call("--method stabilizer has tests of its own: leave --error pooled out");
  if (!options.subject.empty()) return {};
  if (options.estimand != "mean")
    return wrong_call(fmt::format(
        "--method stabilizer without --subject does not use averages other than the mean: leave "
        "--average {} out",
        options.estimand));
  if (!options.equivalence.empty())
    return wrong_call(
        "--method stabilizer without --subject has no test of whether two levels are the same: "
        "leave --margin out");
  return {};
}

// Machines take the place of programs, because both are samples that have blocks.
Result<void> set_machines(const AnalyzeOptions& options, stats::Spec& spec) {
  if (options.machine.empty()) {
    if (options.answer != "these")
      return wrong_call(
          "--answer says to which machines the answer applies, but --machine is missing");
    if (!options.machine_kind.empty())
      return wrong_call("--machine-kind says which machines are alike, but --machine is missing");
    return {};
  }
  if (!options.subject.empty())
    return wrong_call(
        "--machine and --subject cannot be used together: analyze the trials of each program "
        "separately");
  if (!options.random.empty())
    return wrong_call(
        "--machine and --random cannot be used together: name the column of blocks with --block");
  if (options.method != "standard" || options.error != "own")
    return wrong_call(
        "--machine needs --method standard and --error own, because each comparison is tested "
        "against its own variation within and between machines");
  if (options.estimand != "mean")
    return wrong_call(
        "--machine needs --average mean, because the analysis averages over machines");
  spec.machines = true;
  spec.subject = options.machine;
  spec.machine_kind = options.machine_kind;
  spec.design = stats::Design::within_subjects;
  spec.programs = options.answer == "these" ? stats::Programs::these : stats::Programs::like_these;
  return {};
}

}  // namespace

Result<double> read_share(const std::string& option, const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto number =
      stats::parse_number(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)), '.');
  const double share = number ? number->value / (percent ? 100 : 1) : 0;
  if (!number || !(share > 0 && share < 1))
    return wrong_call(fmt::format("{} {}: give a share above 0 and below 1, for example 1% or 0.01",
                                  option, one_line(text, 40)));
  return share;
}

bool is_quantile(const std::string& estimand) {
  return estimand.size() > 1 && estimand.front() == 'p' &&
         estimand.find_first_not_of("0123456789.", 1) == std::string::npos;
}

Result<stats::Spec> analyze_spec(const AnalyzeOptions& options) {
  if (auto roles = check_roles(options); !roles) return std::unexpected(roles.error());
  stats::Spec spec;
  spec.response = options.response;
  spec.unit = options.unit == "ns"      ? stats::Unit::nanoseconds
              : options.unit == "bytes" ? stats::Unit::bytes
                                        : stats::Unit::number;
  spec.treatments = options.factors;
  spec.block = options.block;
  spec.subject = options.subject;
  spec.seed = options.random;
  spec.in_order = !options.order.empty();
  if (!options.random.empty())
    spec.design = stats::Design::nested;
  else if (!options.subject.empty())
    spec.design = stats::Design::within_subjects;
  spec.log_scale = options.scale == "log";
  spec.independent_blocks = options.independent_blocks;
  spec.order_drawn = options.order_drawn;
  spec.random_seed = options.seed;
  // The 90 % quantile of the changes is above 0 even if nothing differs.
  if (is_quantile(options.estimand))
    return wrong_call(
        "--average accepts only one quantile, the median: even if the levels do not differ, "
        "noise moves every other quantile of the blocks' changes away from zero. Use 'median'. To "
        "compare a quantile of many requests, let each trial report that quantile as its value");
  spec.estimand = stats::estimand_named(options.estimand);
  if (options.losses == "monotone") spec.losses = stats::Losses::monotone;
  if (options.losses == "random") spec.losses = stats::Losses::random;
  spec.lost_at_least = options.lost_at_least;
  spec.lost_at_most = options.lost_at_most;
  if (spec.lost_at_least && spec.lost_at_most && *spec.lost_at_least > *spec.lost_at_most)
    return wrong_call("--lost-at-least is above --lost-at-most");
  spec.resolution = options.resolution;
  spec.number_is_measured = true;
  spec.alpha = options.alpha;
  if (options.error == "pooled") spec.error = stats::Error::pooled;
  if (spec.error == stats::Error::pooled && !options.subject.empty())
    return wrong_call(
        "--error pooled and --subject cannot be used together: conclusions about several subjects "
        "are based on the subjects' blocks");
  if (options.seeds != "auto" && options.random.empty())
    return wrong_call("--seeds needs --random, which names the column of seeds");
  if (options.sums_of_squares == 3 && !options.block.empty() && options.error != "pooled" &&
      options.method != "stabilizer")
    return wrong_call(
        "with --block, --type 3 needs --error pooled, because comparisons with --error own do not "
        "use sums of squares");
  if (options.programs == "these") spec.programs = stats::Programs::these;
  if (auto set = set_machines(options, spec); !set) return std::unexpected(set.error());
  if (auto used = check_paper(options); !used) return std::unexpected(used.error());
  spec.all_pairs = options.pairs == "all";
  spec.higher_is_better = options.higher_is_better;
  spec.sums_of_squares =
      options.sums_of_squares == 3 ? stats::SumsOfSquares::type3 : stats::SumsOfSquares::type2;
  if (!options.equivalence.empty()) {
    const auto margin = read_share("--margin", options.equivalence);
    if (!margin) return std::unexpected(margin.error());
    spec.equivalence = *margin;
  }
  if (spec.design == stats::Design::nested && !spec.block.empty())
    return wrong_call(
        "--block and --random cannot be used together: --random means a nested design, whose "
        "trials have no blocks");
  return options.method == "stabilizer" ? stats::paper_spec(spec) : spec;
}

stats::CsvColumns analyze_columns(const stats::Spec& spec, const std::string& order) {
  stats::CsvColumns columns{
      .response = spec.response, .factors = spec.treatments, .order = order, .only = {}};
  for (const std::string* name : {&spec.block, &spec.subject, &spec.machine_kind, &spec.seed})
    if (!name->empty()) columns.factors.push_back(*name);
  return columns;
}

Result<void> set_baselines(const std::vector<std::string>& baselines, const stats::Spec& spec,
                           stats::Dataset& data) {
  for (const std::string& text : baselines) {
    const std::size_t equals = text.find('=');
    const std::string factor = text.substr(0, equals);
    if (equals == std::string::npos ||
        std::ranges::find(spec.treatments, factor) == spec.treatments.end())
      return wrong_call(fmt::format("--baseline {}: give factor=level, with one of the factors {}",
                                    one_line(text, 60), fmt::join(spec.treatments, ", ")));
    const auto column = std::ranges::find(data.columns, factor, &stats::Column::name);
    const std::string wanted = text.substr(equals + 1);
    const auto level = std::ranges::find(column->levels, wanted);
    if (level == column->levels.end()) {
      const std::string near = nearest(wanted, column->levels);
      return wrong_call(fmt::format("--baseline {}: {} has no level {}{}", one_line(text, 60),
                                    factor, one_line(wanted, 60),
                                    near.empty() ? "" : "; did you mean " + near + "?"));
    }
    const auto old = static_cast<std::uint32_t>(level - column->levels.begin());
    std::rotate(column->levels.begin(), level, level + 1);
    const auto moved = [&](std::uint32_t code) {
      return code == old ? 0 : code < old ? code + 1 : code;
    };
    for (std::uint32_t& code : column->codes) code = moved(code);
    for (stats::Lost& trial : data.lost) {
      std::uint32_t& code = trial.codes[static_cast<std::size_t>(column - data.columns.begin())];
      code = moved(code);
    }
  }
  return {};
}

namespace {

// The data to analyse, with their specification.
struct Task {
  stats::Spec spec{};
  stats::Dataset data{};
  std::vector<std::string> notes{};
  bool failed = false;  // a measured run failed
};

constexpr const char* one_session =
    "each level has only one file, so the effect of the levels cannot be told apart from the "
    "effect of anything else that changed between the files";

// Each level has one file, which is one session, so the variation between sessions is unknown. For
// the same reason, interactions with the factor are not tested (Spec::sessions).
void withhold_between_files(const std::string& factor, stats::Analysis& analysis) {
  bool all = true;
  for (stats::Effect& effect : analysis.effects) {
    if (effect.treatment != factor) {
      all = false;
      continue;
    }
    effect.method = "within files: " + effect.method;
    stats::withhold(effect, one_session);
  }
  if (all) analysis.withheld = one_session;
}

void note_sessions(std::vector<std::string>& notes) {
  notes.push_back(
      "The values in these files were measured at different times, so anything that changed on the "
      "machine in between looks like a difference between the files. Intervals and p reflect only "
      "the variation within the files. To get a verdict, let 'stabctl ab' measure both versions "
      "alternately.");
}

Result<std::vector<Input>> open_all(const std::vector<std::string>& files) {
  if (std::ranges::count(files, "-") > 1)
    return wrong_call("stdin can be read only once, so give '-' only once");
  std::vector<Input> inputs;
  inputs.reserve(files.size());
  for (const std::string& file : files) {
    auto input = Input::open(file);
    if (!input) return std::unexpected(input.error());
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

Result<foreign::Format> format_of_all(const AnalyzeOptions& options,
                                      const std::vector<Input>& inputs) {
  if (options.format != "auto") return foreign::format_named(options.format);
  std::optional<foreign::Format> common;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto format = foreign::format_of(inputs[i].text());
    if (!format) return wrong_call(options.files[i] + ": " + format.error().message);
    if (common && *common != *format)
      return wrong_call(
          fmt::format("{} and {} come from different tools: all files must have the same format",
                      options.files.front(), options.files[i]));
    common = *format;
  }
  return *common;
}

Result<foreign::FileFactor> factor_of_files(const AnalyzeOptions& options) {
  if (options.files.size() == 1 && !options.file_factor.empty())
    return wrong_call(
        "--factor names the factor that tells several files apart, but there is only one file");
  return foreign::file_factor(options.file_factor, options.files);
}

// Reads one table from each file, and adds notes about them to the task.
Result<std::vector<stats::Dataset>> read_tables(const std::vector<Input>& inputs,
                                                const AnalyzeOptions& options,
                                                const foreign::FileFactor& factor, Task& task) {
  const bool several = inputs.size() > 1;
  std::vector<stats::Dataset> tables;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    stats::CsvColumns columns = analyze_columns(task.spec, options.order);
    if (has_samples(inputs[i].text()))
      return wrong_call(
          fmt::format("{}: this table has samples, but samples of a trial are not independent: use "
                      "'stabctl export' without --samples",
                      options.files[i]));
    if (is_own_export(inputs[i].text())) {
      ask_for_own_data(inputs[i].text(), columns);
      // stabd draws the order within each block, and for each experiment separately.
      if (!several && (task.spec.block == "block" || task.spec.design == stats::Design::nested))
        task.spec.order_drawn = true;
    }
    task.spec.in_order = !columns.order.empty() && !several;
    auto csv = stats::read_csv(inputs[i].text(), columns);
    if (!csv) return wrong_call(options.files[i] + ": " + csv.error().message);
    // Among our own rows, only those of disturbed trials are excluded without a failure.
    task.failed |= std::ranges::any_of(csv->data.lost, std::not_fn(&stats::Lost::excluded));
    std::vector<std::string> notes;
    add_row_notes(*csv, columns, notes);
    for (std::string& note : notes)
      task.notes.push_back(several ? factor.levels[i] + ": " + note : std::move(note));
    tables.push_back(std::move(csv->data));
  }
  return tables;
}

Result<Task> task_of_csv(const AnalyzeOptions& options, const std::vector<Input>& inputs) {
  if (options.response.empty()) return wrong_call("--metric: name the column of measured values");
  const auto factor = factor_of_files(options);
  if (!factor) return std::unexpected(factor.error());
  auto spec = analyze_spec(options);
  if (!spec) return std::unexpected(spec.error());
  Task task{.spec = std::move(*spec)};
  auto tables = read_tables(inputs, options, *factor, task);
  if (!tables) return std::unexpected(tables.error());
  if (tables->size() == 1) {
    task.data = std::move(tables->front());
    if (options.seeds != "auto" || !is_own_export(inputs.front().text()))
      if (auto set = set_seeds(options.seeds, task.data, task.spec); !set)
        return std::unexpected(set.error());
    if (auto set = set_fraction(options.generators, task.data, task.spec, task.notes); !set)
      return std::unexpected(set.error());
    return task;
  }
  if (!options.generators.empty())
    return wrong_call("--generators works only with a single table, but there are several");
  // A name in one file says nothing about the same name in another.
  if (!options.block.empty() || !options.machine.empty())
    return wrong_call(
        "--block and --machine work only with a single table, but there are several: analyze each "
        "file by itself, or join the files into one table and give each block a name of its own");
  if (options.seeds == "crossed")
    return wrong_call("--seeds crossed works only with a single table, but there are several");
  for (std::size_t i = 0; i < tables->size(); ++i)
    if (!is_own_export(inputs[i].text())) {
      stats::Spec nested = task.spec;
      if (auto set = set_seeds(options.seeds, (*tables)[i], nested); !set)
        return std::unexpected(set.error());
    }
  if (tables->front().find(factor->name) != nullptr || factor->name == options.response)
    return wrong_call(
        fmt::format("the factor that tells the files apart is named {}, but a column already has "
                    "this name: give the factor another name with --factor",
                    one_line(factor->name, 60)));
  task.data = foreign::joined(std::move(*tables), *factor);
  task.spec.treatments.push_back(factor->name);
  task.spec.sessions = factor->name;
  note_sessions(task.notes);
  return task;
}

// Warns that each version had a single layout, and that versions ran one after the other.
void note_cautions(foreign::Format format, bool several, std::vector<std::string>& notes) {
  if (format == foreign::Format::hyperfine)
    notes.push_back(
        "Not random: the positions of code, stack and heap. Each command was a single binary in a "
        "single environment, so a difference may come from the layouts alone; 'stabctl ab' uses "
        "many layouts.");
  else
    notes.push_back(
        "Not random: the positions of code, stack and heap. The repetitions in a file come from "
        "one process, so they share one layout, and a difference may come from the layouts alone. "
        "A plan with google_benchmark under [measure.output] starts a new process for each trial.");
  if (several)
    note_sessions(notes);
  else
    notes.push_back(
        fmt::format("{} measures one version after the other, so anything that changed on the "
                    "machine in between looks like a difference between the versions.",
                    format == foreign::Format::hyperfine ? "hyperfine" : "Google Benchmark"));
}

void note_hosts(const std::vector<foreign::Measured>& files, std::vector<std::string>& notes) {
  const auto differs = [&](const foreign::Measured& file) {
    return file.host != files.front().host;
  };
  const auto other = std::ranges::find_if(files, differs);
  if (other != files.end())
    notes.push_back(fmt::format("The files come from different machines: {} and {}.",
                                one_line(files.front().host, 60), one_line(other->host, 60)));
}

Result<std::vector<foreign::Measured>> read_measured(const AnalyzeOptions& options,
                                                     const std::vector<Input>& inputs,
                                                     foreign::Format format) {
  std::vector<foreign::Measured> files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto read = format == foreign::Format::hyperfine
                    ? foreign::read_hyperfine(inputs[i].text(), options.response)
                    : foreign::read_google_benchmark(inputs[i].text(), options.response);
    if (!read) return wrong_call(options.files[i] + ": " + read.error().message);
    files.push_back(std::move(*read));
  }
  return files;
}

Result<Task> task_of_json(const AnalyzeOptions& options, const std::vector<Input>& inputs,
                          foreign::Format format) {
  if (!options.block.empty() || !options.random.empty() || !options.order.empty())
    return wrong_call(
        "--block, --random and --order name columns of a table, but the JSON of other tools has no "
        "columns");
  if (!options.machine.empty())
    return wrong_call(
        "--machine names a column of a table, but the JSON of other tools has no columns");
  const auto factor = factor_of_files(options);
  if (!factor) return std::unexpected(factor.error());
  auto files = read_measured(options, inputs, format);
  if (!files) return std::unexpected(files.error());
  AnalyzeOptions known = options;
  known.response = files->front().response;
  auto spec = analyze_spec(known);
  if (!spec) return std::unexpected(spec.error());
  Task task{.spec = std::move(*spec)};
  if (options.unit.empty()) task.spec.unit = files->front().unit;
  note_cautions(format, inputs.size() > 1, task.notes);
  note_hosts(*files, task.notes);
  auto table =
      foreign::table_of(std::move(*files), *factor,
                        {.format = format, .factors = options.factors, .subject = options.subject});
  if (!table) return std::unexpected(table.error());
  task.spec.treatments = std::move(table->treatments);
  task.spec.subject = std::move(table->subject);
  // Google Benchmark may interleave repetitions, so the file may not be in the order of time.
  task.spec.in_order = format == foreign::Format::hyperfine;
  task.spec.one_after_other = true;  // note_cautions() says so
  task.data = std::move(table->data);
  task.failed = table->failed > 0;
  if (auto set = set_fraction(options.generators, task.data, task.spec, task.notes); !set)
    return std::unexpected(set.error());
  std::ranges::move(table->notes, std::back_inserter(task.notes));
  if (inputs.size() > 1) task.spec.sessions = factor->name;
  return task;
}

}  // namespace

Result<int> analyze(const AnalyzeOptions& options) {
  auto inputs = open_all(options.files);
  if (!inputs) return std::unexpected(inputs.error());
  const auto format = format_of_all(options, *inputs);
  if (!format) return std::unexpected(format.error());
  auto task = *format == foreign::Format::csv ? task_of_csv(options, *inputs)
                                              : task_of_json(options, *inputs, *format);
  if (!task) return std::unexpected(task.error());
  if (auto set = set_baselines(options.baselines, task->spec, task->data); !set)
    return std::unexpected(set.error());
  stats::Analysis analysis = stats::analyse(task->data, task->spec);
  if (!task->spec.sessions.empty()) withhold_between_files(task->spec.sessions, analysis);
  std::ranges::move(task->notes, std::back_inserter(analysis.notes));
  const std::string text = rendered(options, analysis, task->data.response.size());
  if (auto written = write_output(text, options.output, Colours::ours); !written)
    return std::unexpected(written.error());
  return exit_code({.trials_failed = task->failed, .findings = stats::findings(analysis)},
                   options.fail_on);
}

namespace {

struct Rule {
  const char* column;
  const char* text;       // the column's text in rows that are data
  const char* others;     // describes the other rows
  bool may_lack = false;  // only some exports have the column
};

// A row is left out by the first rule that it breaks: a warm-up that failed counts as a warm-up,
// and a repeated attempt as repeated, although it failed or was disturbed.
constexpr std::array rules{
    Rule{.column = "warmup", .text = "false", .others = "of warm-up trials"},
    Rule{.column = plan::plain_column,
         .text = "",
         .others = "of trials without random layouts",
         .may_lack = true},
    Rule{.column = "last", .text = "true", .others = "of attempts that were repeated"},
    Rule{.column = "status",
         .text = "ok",
         .others = "of trials that failed, were skipped or were disturbed"},
};
constexpr const char* start = "started_ns";
constexpr std::array others{"position", "attempt", "block", "benchmark", "seed", "wall_ns", start};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool has_samples(std::string_view text) {
  const auto header = stats::csv_header(text);
  return header && std::ranges::all_of(std::array{"position", "trial_status", "measure", "ordinal"},
                                       [&](const char* name) { return contains(*header, name); });
}

bool is_own_export(std::string_view text) {
  const auto header = stats::csv_header(text);
  if (!header) return false;
  const auto has = [&](const char* name) { return contains(*header, name); };
  return std::ranges::all_of(others, has) && std::ranges::all_of(rules, [&](const Rule& rule) {
           return rule.may_lack || has(rule.column);
         });
}

void ask_for_own_data(std::string_view text, stats::CsvColumns& columns) {
  const auto header = stats::csv_header(text);
  for (const Rule& rule : rules) {
    if (rule.may_lack && !(header && contains(*header, rule.column))) continue;
    if (contains(columns.factors, rule.column) || columns.response == rule.column) continue;
    columns.only.push_back({.column = rule.column, .text = rule.text});
    if (rule.column != std::string_view("status")) continue;
    // A trial that timed out would have taken at least as long as it ran.
    columns.only.back().others_are_lost = true;
    columns.only.back().excluded = "disturbed";
    if (columns.response == "wall_ns") columns.only.back().at_least = "timeout";
  }
  if (columns.order.empty()) columns.order = start;
}

std::string own_rows_left_out(const stats::CsvColumns& columns,
                              std::span<const std::size_t> left_out) {
  std::size_t all = 0;
  std::string parts;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i] == 0) continue;
    all += left_out[i];
    const auto* const rule = std::ranges::find_if(
        rules, [&](const Rule& each) { return columns.only[i].column == each.column; });
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", left_out[i], rule->others);
  }
  if (all == 0) return "";
  return fmt::format("Left out: {} row{} of stabd's export ({}).", all, all == 1 ? "" : "s", parts);
}

// The cells in the table; bit t of a cell is the level, 0 or 1, of treatment t. Nothing if a
// treatment does not have two levels.
std::optional<std::set<std::uint32_t>> two_level_cells(const stats::Dataset& data,
                                                       const stats::Spec& spec) {
  std::vector<const stats::Column*> columns;
  for (const std::string& name : spec.treatments) {
    columns.push_back(data.find(name));
    if (columns.back() == nullptr || columns.back()->levels.size() != 2) return std::nullopt;
  }
  std::set<std::uint32_t> cells;
  std::array<std::uint32_t, 64> known{};  // a cell each, plus 1, so that most rows need no search
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    std::uint32_t cell = 0;
    for (std::size_t t = 0; t < columns.size(); ++t) cell |= columns[t]->codes[row] << t;
    std::uint32_t& place = known[cell % known.size()];
    if (place != cell + 1) cells.insert(cell);
    place = cell + 1;
  }
  return cells;
}

// Finds the words (sets of treatments) whose product is the same in all cells, and reduces them
// until each has a treatment that no other word has: this treatment is the product of the word's
// others. Empty unless the table has all cells that the words allow.
std::vector<plan::Generator> found_generators(const std::set<std::uint32_t>& cells,
                                              std::size_t treatments) {
  std::vector<std::uint32_t> words;
  for (std::uint32_t word = 1; word < 1U << treatments; ++word) {
    const auto parity = [&](std::uint32_t cell) { return std::popcount(cell & word) % 2; };
    const int first = parity(*cells.begin());
    if (std::ranges::all_of(cells, [&](std::uint32_t cell) { return parity(cell) == first; }))
      words.push_back(word);
  }
  if (cells.size() * (words.size() + 1) != std::size_t{1} << treatments) return {};
  std::vector<plan::Generator> generators;
  for (std::size_t t = treatments; t-- > 0;) {
    const auto has = [t](std::uint32_t word) { return (word >> t & 1U) != 0; };
    const auto pivot = std::ranges::find_if(words, has);
    if (pivot == words.end()) continue;
    const std::uint32_t own = *pivot;
    std::erase(words, own);
    for (std::uint32_t& word : words)
      if (has(word)) word ^= own;
    for (plan::Generator& other : generators)
      if (has(other.product)) other.product ^= own;
    std::erase(words, 0U);
    generators.push_back({.treatment = t, .product = own ^ 1U << t});
  }
  return generators;
}

Result<void> set_fraction(const std::vector<std::string>& generators, const stats::Dataset& data,
                          stats::Spec& spec, std::vector<std::string>& notes) {
  const std::size_t k = spec.treatments.size();
  const bool given = !generators.empty();
  if (spec.design != stats::Design::factorial || spec.error == stats::Error::pooled)
    return given ? wrong_call(
                       "--generators is for the trials of one program: --subject, --random and "
                       "--error pooled cannot be combined with it")
                 : Result<void>{};
  if (k < 3 || k > plan::max_fractional_treatments)
    return given ? wrong_call(fmt::format("--generators needs 3 to {} factors with two levels each",
                                          plan::max_fractional_treatments))
                 : Result<void>{};
  const auto cells = two_level_cells(data, spec);
  if (!cells)
    return given ? wrong_call("--generators: each factor in --factors needs exactly two levels")
                 : Result<void>{};
  if (cells->empty() || cells->size() == std::size_t{1} << k)
    return given ? wrong_call(
                       "--generators: the table has all combinations of levels, so all effects can "
                       "be told apart; leave the option out")
                 : Result<void>{};
  std::vector<plan::Generator> wanted;
  for (const std::string& text : generators) {
    auto generator = plan::read_generator(text, spec.treatments);
    if (!generator)
      return wrong_call("--generators " + one_line(text, 60) + ": " + generator.error().message);
    wanted.push_back(*generator);
  }
  if (!given) wanted = found_generators(*cells, k);
  if (wanted.empty()) return {};
  const auto design = plan::fractional_design(spec.treatments, wanted);
  if (!design)
    return given ? wrong_call("--generators: " + design.error().message) : Result<void>{};
  // A table may name levels the other way round, so a product may be -1 in all cells instead of +1.
  for (const plan::Generator& generator : design->generators) {
    const std::uint32_t word = generator.product | 1U << generator.treatment;
    const int first = std::popcount(*cells->begin() & word) % 2;
    for (const std::uint32_t cell : *cells)
      if (std::popcount(cell & word) % 2 != first)
        return wrong_call(fmt::format(
            "--generators: the table has cells that the generator {} = {} does not allow",
            spec.treatments[generator.treatment],
            plan::effect_name(generator.product, spec.treatments)));
  }
  for (const auto& chain : plan::alias_chains(*design))
    spec.chains.push_back(
        {.effect = chain.front(),
         .aliases = plan::alias_text(std::span(chain).subspan(1), design->treatments)});
  notes.push_back(fmt::format(
      "The table contains a fraction of all combinations of the factors' levels: {}.{}",
      fmt::join(plan::defining_relation(*design), ", "),
      given ? "" : " If you used a different design, describe it with '--generators'."));
  return {};
}

// A seed that appears in several cells may be one draw that these cells share, or a number that
// each of them uses for its own draw.
Result<void> set_seeds(const std::string& seeds_are, const stats::Dataset& data,
                       stats::Spec& spec) {
  if (spec.design != stats::Design::nested || seeds_are == "nested") return {};
  const stats::Column* seeds = data.find(spec.seed);
  if (seeds == nullptr) return {};
  if (seeds_are == "auto") {
    std::vector<std::set<std::vector<std::uint32_t>>> cells(seeds->levels.size());
    std::size_t shared = 0;
    for (std::size_t row = 0; row < data.response.size(); ++row) {
      std::vector<std::uint32_t> cell;
      for (const std::string& name : spec.treatments) {
        const stats::Column* column = data.find(name);
        cell.push_back(column == nullptr ? 0 : column->codes[row]);
      }
      auto& own = cells[seeds->codes[row]];
      if (own.size() < 2 && own.insert(std::move(cell)).second && own.size() == 2) ++shared;
    }
    if (shared == 0) return {};
    return wrong_call(
        fmt::format("{} of the {} seeds in {} have trials in several cells, which can mean two "
                    "things. If a seed is one layout that several cells share, use '--seeds "
                    "crossed': cells are then compared within each seed. If each cell drew its own "
                    "layouts and the seeds are only labels, use '--seeds nested'",
                    shared, seeds->levels.size(), one_line(spec.seed, 60)));
  }
  spec.design = spec.subject.empty() ? stats::Design::factorial : stats::Design::within_subjects;
  spec.block = spec.seed;
  spec.seed.clear();
  // Seeds are not in the order of time, so neighbours are not correlated.
  spec.independent_blocks = true;
  return {};
}

}  // namespace
}  // namespace stab::client
