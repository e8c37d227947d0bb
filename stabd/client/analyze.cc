// SPDX-License-Identifier: MIT
#include "stabd/client/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/json.h"
#include "report/text.h"
#include "stabd/client/input.h"
#include "stabd/client/output.h"
#include "stabd/client/own_export.h"
#include "stats/analyse/analyse.h"
#include "stats/analyse/paper.h"
#include "stats/numbers/decimal.h"
#include "stats/verdicts/decide.h"

namespace stab::client {
namespace {

// Each column has one role.
Result<void> check_roles(const AnalyzeOptions& options) {
  std::set<std::string> seen{options.response};
  std::vector<std::string> others = options.factors;
  for (const std::string* name :
       {&options.block, &options.subject, &options.random, &options.order})
    if (!name->empty()) others.push_back(*name);
  for (const std::string& name : others)
    if (!seen.insert(name).second)
      return fail(
          fmt::format("the column {} is named twice: each can be one of response, factor, "
                      "block, subject, random, order",
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
    notes.push_back(fmt::format("{} left out because a factor's cell in them is empty.",
                                plural(csv.incomplete, "row")));
  if (csv.ties > 0)
    notes.push_back(fmt::format("{} share their {} with another; of those the file's order counts.",
                                plural(csv.ties, "row"), columns.order));
}

std::string rendered(const AnalyzeOptions& options, const stats::Analysis& analysis,
                     std::size_t rows) {
  if (options.json) return report::analysis_json(options.file, analysis);
  const std::string title = fmt::format("{}, {}", options.file, plural(rows, "trial"));
  return report::analysis_text(
      title, analysis, {.colour = options.output.empty() && wants_colour(), .full = options.full});
}

}  // namespace

Result<double> read_share(const std::string& option, const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto number =
      stats::parse_number(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)), '.');
  const double share = number ? number->value / (percent ? 100 : 1) : 0;
  if (!number || !(share > 0 && share < 1))
    return fail(fmt::format("{} {}: a share as in 1% or 0.01 is needed, above 0 and below 1",
                            option, one_line(text, 40)));
  return share;
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
  spec.alpha = options.alpha;
  if (options.error == "pooled") spec.error = stats::Error::pooled;
  if (spec.error == stats::Error::pooled && !options.subject.empty())
    return fail(
        "--error pooled and --subject do not go together: what is said of several subjects rests "
        "on "
        "their blocks");
  if (options.programs == "these") spec.programs = stats::Programs::these;
  spec.all_pairs = options.pairs == "all";
  spec.higher_is_better = options.higher_is_better;
  spec.sums_of_squares =
      options.sums_of_squares == 3 ? stats::SumsOfSquares::type3 : stats::SumsOfSquares::type2;
  if (!options.equivalence.empty()) {
    const auto margin = read_share("--equivalence", options.equivalence);
    if (!margin) return std::unexpected(margin.error());
    spec.equivalence = *margin;
  }
  if (spec.design == stats::Design::nested && !spec.block.empty())
    return fail(
        "--block and --random do not go together: the trials of a nested design have no "
        "blocks");
  return options.method == "stabilizer" ? stats::paper_spec(spec) : spec;
}

stats::CsvColumns analyze_columns(const stats::Spec& spec, const std::string& order) {
  stats::CsvColumns columns{
      .response = spec.response, .factors = spec.treatments, .order = order, .only = {}};
  for (const std::string* name : {&spec.block, &spec.subject, &spec.seed})
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
      return fail(fmt::format("--baseline {}: 'factor=level' is needed, with one of --factors",
                              one_line(text, 60)));
    const auto column = std::ranges::find(data.columns, factor, &stats::Column::name);
    const std::string wanted = text.substr(equals + 1);
    const auto level = std::ranges::find(column->levels, wanted);
    if (level == column->levels.end()) {
      const std::string near = nearest(wanted, column->levels);
      return fail(fmt::format("--baseline {}: {} has no level {}{}", one_line(text, 60), factor,
                              one_line(wanted, 60),
                              near.empty() ? "" : "; did you mean " + near + "?"));
    }
    const auto old = static_cast<std::uint32_t>(level - column->levels.begin());
    std::rotate(column->levels.begin(), level, level + 1);
    for (std::uint32_t& code : column->codes) code = code == old ? 0 : code < old ? code + 1 : code;
  }
  return {};
}

Result<int> analyze(const AnalyzeOptions& options) {
  auto spec = analyze_spec(options);
  if (!spec) return std::unexpected(spec.error());
  const auto input = Input::open(options.file);
  if (!input) return std::unexpected(input.error());
  stats::CsvColumns columns = analyze_columns(*spec, options.order);
  if (is_own_export(input->text())) ask_for_own_data(columns);
  spec->in_order = !columns.order.empty();
  auto csv = stats::read_csv(input->text(), columns);
  if (!csv) return fail(options.file + ": " + csv.error().message);
  if (auto set = set_baselines(options.baselines, *spec, csv->data); !set)
    return std::unexpected(set.error());
  stats::Analysis analysis = stats::analyse(csv->data, *spec);
  add_row_notes(*csv, columns, analysis.notes);
  const std::string text = rendered(options, analysis, csv->data.response.size());
  if (auto written = write_output(text, options.output, Colours::ours); !written)
    return std::unexpected(written.error());
  return exit_code({.findings = stats::findings(analysis)}, options.fail_on);
}

}  // namespace stab::client
