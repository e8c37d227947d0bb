// SPDX-License-Identifier: MIT

#include "plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "plan/texts.h"

namespace stab::plan {

bool is_resolved(std::string_view revision) {
  constexpr std::size_t sha1_digits = 40;
  constexpr std::size_t sha256_digits = 64;
  return revision == working_tree ||
         ((revision.size() == sha1_digits || revision.size() == sha256_digits) &&
          revision.find_first_not_of("0123456789abcdef") == std::string_view::npos);
}

bool Check::accepts(int code) const {
  return code == exit || std::ranges::find(other_exits, code) != other_exits.end();
}

std::string exits_of(const Check& check) {
  std::string text = fmt::format("{}", check.exit);
  for (const int code : check.other_exits)
    text += fmt::format("{}{}", code == check.other_exits.back() ? " or " : ", ", code);
  return text;
}

bool Factor::is_treatment() const {
  const auto* fixed = std::get_if<FixedLevels>(&levels);
  return fixed != nullptr && fixed->levels.size() >= 2;
}

bool lists_cells(DesignKind kind) {
  return kind == DesignKind::custom || kind == DesignKind::fractional;
}

bool Plan::is_split(std::string_view response) const {
  const auto output = std::ranges::find(outputs, response, &OutputMeasure::name);
  return output != outputs.end() && output->google_benchmark;
}

std::string describe(const Stop& stop) {
  if (stop.rule == StopRule::precision)
    return fmt::format(
        "rule \"precision\": the experiment ends when every interval extends at most {:.3g} % to "
        "either side; the experiment has at least {} and at most {} blocks",
        100 * stop.half_width, stop.min(), stop.max);
  return fmt::format(
      "rule \"sequential\": the experiment ends when every comparison has a verdict; stabd checks "
      "this up to {} times; the experiment has at least {} and at most {} blocks",
      stop.looks.size() + 1, stop.min(), stop.max);
}

std::string describe(const Machines& machines) {
  std::string number = fmt::to_string(machines.nodes);
  if (const auto& range = machines.range) {
    const std::string all = fmt::format("{} to {}", range->least, range->most);
    number = machines.is_chosen ? fmt::format("{} (of {})", number, all) : all;
  }
  std::string text = fmt::format("{} node{} of a Slurm cluster", number,
                                 machines.nodes == 1 && !machines.range ? "" : "s");
  if (!machines.names.empty()) text += fmt::format(" ({})", fmt::join(machines.names, ", "));
  for (const auto& [name, value] : {std::pair("partition", &machines.partition),
                                    {"account", &machines.account},
                                    {"qos", &machines.qos},
                                    {"constraint", &machines.constraint},
                                    {"reservation", &machines.reservation}})
    if (!value->empty()) text += fmt::format(", {} {}", name, *value);
  if (machines.time_limit)
    text += fmt::format(", at most {}", format_duration(*machines.time_limit));
  return text;
}

std::vector<std::string> counter_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const auto* groups : {&plan.counters, &plan.rotated})
    for (const auto& group : *groups)
      for (const std::string& name : group)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::string describe(const Exclusion& rule) {
  return fmt::format("{} {} {}", rule.quantity, to_string(rule.bound), rule.limit);
}

namespace {

// clang-format off
constexpr std::array quantity_table{
    Quantity{"involuntary_switches_per_s", "1/s", "context-switches-involuntary", "", Take::per_second, "how often other processes took the program's CPU"},
    Quantity{"voluntary_switches_per_s", "1/s", "context-switches-voluntary", "", Take::per_second, "how often the program waited"},
    Quantity{"migrations_per_s", "1/s", "cpu-migrations", "", Take::per_second, "how often the program's first thread moved to another CPU"},
    Quantity{"major_faults_per_s", "1/s", "page-faults-major", "", Take::per_second, "page faults that waited for a disk"},
    Quantity{"interrupts_per_s", "1/s", "interrupts", "", Take::per_second, "interrupts on the trial's CPUs, including timer interrupts"},
    Quantity{"softirqs_per_s", "1/s", "softirqs", "", Take::per_second, "how often the kernel ran deferred work (softirqs) on the trial's CPUs"},
    Quantity{"throttled_per_s", "1/s", "throttled", "", Take::per_second, "how often heat slowed the trial's CPUs down"},
    Quantity{"steal_share", "", "steal-ns", "", Take::share, "time that the host took from the trial's CPUs, relative to the trial's duration: 1 means that the host took one CPU all the time"},
    Quantity{"other_cpus_busy_share", "", "other-cpus-busy-ns", "", Take::share, "CPU time used on all CPUs except the trial's, relative to the trial's duration: 1 means that one CPU was busy all the time"},
    Quantity{"memory_pressure_share", "", "memory-pressure-ns", "", Take::share, "the share of the trial's duration in which at least one task on the machine waited for memory"},
    Quantity{"frequency_before_khz", "kHz", "frequency-before-khz", "", Take::as_it_is, "the lowest frequency of the trial's CPUs, before the trial"},
    Quantity{"frequency_after_khz", "kHz", "frequency-after-khz", "", Take::as_it_is, "the lowest frequency of the trial's CPUs, after the trial"},
    Quantity{"frequency_change", "", "frequency-after-khz", "frequency-before-khz", Take::relative_change, "how much the frequency changed, up or down, as a share of the frequency before the trial"},
    Quantity{"temperature_before_c", "C", "temperature-before-c", "", Take::as_it_is, "the CPU's temperature before the trial"},
    Quantity{"temperature_after_c", "C", "temperature-after-c", "", Take::as_it_is, "the CPU's temperature after the trial"},
    Quantity{"temperature_change_c", "C", "temperature-after-c", "temperature-before-c", Take::difference, "the temperature after the trial minus the temperature before it"},
    Quantity{"clocksource_changes", "", "clocksource-changes", "", Take::as_it_is, "1 if the kernel used a different clock after the trial than before, otherwise 0"},
};
// clang-format on

bool is_count_of(std::string_view reading, std::string_view event) {
  std::string name(event);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (reading.starts_with("page-faults")) return name.contains("fault");
  if (reading.starts_with("cpu-migrations")) return name.contains("migrations");
  return reading.starts_with("context-switches") &&
         (name.contains("switch") || name == "cs" || name.starts_with("cs:") ||
          name.ends_with("::cs") || name.contains("::cs:"));
}

bool is_counter(const Plan& plan, const std::string& name) {
  const auto names = counter_names(plan);
  return std::ranges::find(names, name) != names.end();
}

bool looks_at(const Plan& plan, const Quantity& quantity, const std::string& name) {
  if (name == quantity.reading || (!quantity.before.empty() && name == quantity.before))
    return true;
  return is_counter(plan, name) && is_count_of(quantity.reading, name);
}

}  // namespace

std::span<const Quantity> quantities() {
  return quantity_table;
}

const Quantity* find_quantity(std::string_view name) {
  const auto* const found = std::ranges::find(quantity_table, name, &Quantity::name);
  return found == quantity_table.end() ? nullptr : found;
}

bool has_sign(const Quantity& quantity) {
  return quantity.take == Take::difference || quantity.unit == "C";
}

const Exclusion* rule_on(const Plan& plan, std::span<const std::string> names) {
  const auto rule = std::ranges::find_if(plan.exclude, [&](const Exclusion& each) {
    const Quantity& quantity = *find_quantity(each.quantity);
    return std::ranges::any_of(
        names, [&](const std::string& name) { return looks_at(plan, quantity, name); });
  });
  return rule == plan.exclude.end() ? nullptr : &*rule;
}

std::string_view to_string(Bound bound) {
  switch (bound) {
    case Bound::above:
      return ">";
    case Bound::at_least:
      return ">=";
    case Bound::below:
      return "<";
    case Bound::at_most:
      return "<=";
  }
  return ">";
}

bool catches(const Exclusion& rule, double value) {
  switch (rule.bound) {
    case Bound::above:
      return value > rule.limit;
    case Bound::at_least:
      return value >= rule.limit;
    case Bound::below:
      return value < rule.limit;
    case Bound::at_most:
      return value <= rule.limit;
  }
  return false;
}

namespace {

constexpr std::size_t most = 8;       // variables of a level, levels, lines of variables
constexpr std::size_t longest = 120;  // bytes of a value
constexpr std::string_view own_prefix = "STABD_";

// The first items of a list, joined by `between`.
template <typename List, typename Text>
std::string first_of(const List& list, std::string_view between, Text text) {
  std::string all;
  std::size_t count = 0;
  for (const auto& each : list) {
    if (count == most) return all + fmt::format("{}and {} more", between, list.size() - most);
    if (count++ > 0) all += between;
    all += text(each);
  }
  return all;
}

std::string variable_text(const Variables::value_type& variable) {
  return fmt::format("{} = {}", variable.first,
                     variable.second.empty() ? "\"\"" : one_line(variable.second, longest));
}

std::string level_text(const Level& level) {
  if (!level.revision.empty())
    return fmt::format("{} is {}", level.name,
                       level.revision == working_tree ? "the working tree"
                                                      : "commit " + one_line(level.revision, 200));
  Variables shown = level.variables;
  std::erase_if(shown, [](const auto& each) { return each.first.starts_with(own_prefix); });
  return fmt::format("{} sets {}", level.name, first_of(shown, ", ", variable_text));
}

// The decisions of test runs about the heap layer.
std::string layer_text(const Plan& plan) {
  std::vector<std::string> names;
  for (const Benchmark& each : plan.benchmarks)
    if (each.has_layer) names.push_back(each.name);
  if (names.empty()) return "by default: no benchmark has random heap blocks";
  if (names.size() == plan.benchmarks.size())
    return "by default: random heap blocks in programs built by szc";
  return "by default: random heap blocks in " +
         first_of(names, ", ", [](const std::string& name) { return name; });
}

// The variables that affect how programs are built and run.
Variables used(const Plan& plan) {
  std::set<std::string> names;
  const auto add = [&](const std::string& text) {
    for (const std::string& name : names_in(text)) names.insert(name);
  };
  for (const Benchmark& each : plan.benchmarks) {
    add(each.build.value_or(""));
    for (const std::string& word : each.run) add(word);
    for (const std::string& word : each.beside) add(word);
  }
  Variables variables = plan.variables;
  std::erase_if(variables, [&](const auto& variable) {
    return variable.second.empty() || !names.contains(variable.first);
  });
  return variables;
}

// " is o3 worth it ": words of letters and digits between spaces, so that only whole names are
// found.
std::string as_words(std::string_view text) {
  std::string words = " ";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || byte >= 0x80 || c == '+')
      words += static_cast<char>(std::tolower(byte));
    else if (words.back() != ' ')
      words += ' ';
  }
  if (words.back() != ' ') words += ' ';
  return words;
}

bool names(const std::string& question, std::string_view text) {
  const std::string words = as_words(text);
  if (words.size() < 3) return false;
  const std::string plural = words.substr(0, words.size() - 1) + "s ";
  return question.contains(words) || question.contains(plural);
}

// Words that any question may contain don't refer to a level.
bool is_telling(const std::string& level) {
  static const std::set<std::string> common{" a ",   " all ", " default ", " false ", " i ",
                                            " is ",  " it ",  " no ",      " none ",  " off ",
                                            " old ", " new ", " on ",      " true ",  " yes "};
  const std::string words = as_words(level);
  return !common.contains(words) && words.find_first_not_of(" 0123456789") != std::string::npos;
}

// How plainly the question names the factor. 0: not at all.
int plainness(const std::string& question, const Factor& factor) {
  if (names(question, factor.name)) return 3;
  const auto* fixed = std::get_if<FixedLevels>(&factor.levels);
  if (fixed == nullptr) return 0;
  for (const Level& level : fixed->levels)
    for (const auto& [variable, value] : level.variables)
      if (is_telling(value) && names(question, value)) return 2;
  for (const Level& level : fixed->levels)
    if (is_telling(level.name) && names(question, level.name)) return 1;
  return 0;
}

}  // namespace

std::vector<std::string> treatments_asked(const Plan& plan) {
  const std::string question = as_words(plan.question);
  std::vector<std::string> asked;
  for (const int wanted : {3, 2, 1})
    for (const Factor& factor : plan.factors)
      if (factor.is_treatment() && plainness(question, factor) == wanted)
        asked.push_back(factor.name);
  return asked;
}

std::vector<std::string> settings_of(const Plan& plan) {
  std::vector<std::string> lines;
  const Variables variables = used(plan);
  if (!variables.empty()) lines.push_back(first_of(variables, ", ", variable_text));
  if (plan.pads_by_default)
    lines.emplace_back("by default: random stack frames in programs built by szc");
  if (plan.layer_by_default) lines.push_back(layer_text(plan));
  for (const Benchmark& each : plan.benchmarks)
    if (!each.beside.empty() && lines.size() < most)
      lines.push_back(
          fmt::format("command that runs beside each trial of {}: {}", each.name,
                      one_line(fmt::format("{}", fmt::join(each.beside, " ")), longest)));
  for (const Factor& factor : plan.factors)
    if (factor.kind == FactorKind::user && factor.is_treatment())
      lines.push_back(
          fmt::format("{}: {}", factor.name,
                      first_of(std::get<FixedLevels>(factor.levels).levels, "; ", level_text)));
  return lines;
}

}  // namespace stab::plan
