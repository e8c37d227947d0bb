// SPDX-License-Identifier: MIT
#include "report/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using stats::Analysis;

constexpr std::size_t most_means = 16;  // a short report leaves the means out if there are more

std::string list(std::string_view title, const std::vector<std::string>& items,
                 const TextOptions& options) {
  if (items.empty()) return "";
  std::string text = styled(title, Style::bold, options.colour) + "\n";
  for (const std::string& item : items)
    text += paragraph("  - ", one_line(item, longest), options.width);
  return text + "\n";
}

std::string full_sections(const Analysis& analysis, const TextOptions& options) {
  std::string text =
      section_text(calibration_section(analysis), options) + effects_section(analysis, options) +
      section_text(typical_section(analysis, true), options) + aliases_section(analysis, options) +
      section_text(machines_section(analysis), options);
  for (const Section& each :
       {means_section(analysis), interactions_section(analysis), spread_section(analysis),
        components_section(analysis), padding_section(analysis), anova_section(analysis),
        randomization_section(analysis), assumptions_section(analysis),
        alternatives_section(analysis)})
    text += section_text(each, options);
  return text;
}

bool shows_means(const Analysis& analysis) {
  return analysis.means.size() <= most_means || (analysis.effects.empty() && !analysis.calibration);
}

std::string short_sections(const Analysis& analysis, const TextOptions& options) {
  std::string text =
      section_text(calibration_section(analysis), options) + effects_section(analysis, options) +
      section_text(typical_section(analysis, false), options) + aliases_section(analysis, options) +
      section_text(padding_section(analysis), options) +
      section_text(machines_section(analysis), options);
  if (shows_means(analysis)) text += section_text(means_section(analysis), options);
  if (const std::string rejected = rejected_assumptions(analysis, Rejected::all); !rejected.empty())
    text += labelled("Assumptions: ", rejected, options) + "\n";
  return text;
}

// Names the sections that a short report leaves out.
std::string more(const Analysis& analysis, const TextOptions& options) {
  static constexpr std::array<std::pair<const char*, Section (*)(const Analysis&)>, 7> sections{
      {{"interactions", interactions_section},
       {"changes of the variance", spread_section},
       {"where the variance comes from", components_section},
       {"analysis of variance", anova_section},
       {"the randomization test", randomization_section},
       {"tests of assumptions", assumptions_section},
       {"comparisons by other tests", alternatives_section}}};
  std::string text;
  if (!shows_means(analysis)) text = fmt::format("means of {} cells", analysis.means.size());
  if (std::ranges::any_of(analysis.spec.chains,
                          [](const auto& chain) { return !std::has_single_bit(chain.effect); }))
    text += std::string(text.empty() ? "" : ", ") + "aliases of interactions";
  for (const auto& [title, section] : sections)
    if (!section(analysis).parts.empty()) text += (text.empty() ? "" : ", ") + std::string(title);
  return text.empty() ? "" : labelled("With --full: ", text + ".", options);
}

// Everything below the header. `tables` has the tables about trials, such as counters.
std::string body(const Analysis& analysis, const std::string& tables,
                 const std::vector<std::string>& failures, const TextOptions& options) {
  const std::string lists =
      tables + list("Notes", analysis.notes, options) + list("Failures", failures, options);
  if (options.full)
    return full_sections(analysis, options) + lists +
           (options.answer.empty() ? answer_text(analysis, options) : "");
  return short_sections(analysis, options) + lists + more(analysis, options);
}

// Whether the short report has a form of its own, which may be longer than a screen.
bool has_own_form(const Document& document) {
  const Analysis& analysis = document.analysis;
  return document.causal || analysis.calibration ||
         (analysis.effects.empty() && !analysis.means.empty() &&
          (document.causes.empty() || !document.compares));
}

}  // namespace

std::string text(const Document& document, const TextOptions& options) {
  std::vector<std::string> failures = document.failures;
  if (!failures.empty())
    failures.push_back(fmt::format(
        "'stabctl logs {}' shows the output of failed builds and trials; for an experiment of "
        "'stabctl run', add --folder FOLDER",
        document.id));
  if (!options.full && !has_own_form(document)) return shown(screen_of(document), options);
  std::string tables = causal_section(document, options) + responses_section(document, options);
  for (const Section& each : {exclusions_section(document), without_rules_section(document),
                              cost_section(document), counters_section(document.counters),
                              measures_section(document.measures), samples_section(document)})
    tables += section_text(each, options);
  return header(document, options) + body(document.analysis, tables, failures, options);
}

std::string analysis_text(std::string_view title, const Analysis& analysis,
                          const TextOptions& options) {
  return styled(one_line(title, page_width), Style::bold, options.colour) + "\n\n" +
         answer_text(analysis, options) + "\n" + body(analysis, "", {}, options);
}

// The short report, which fits on one screen.

namespace {

// The short report's table. It has a row for each version if there is one treatment, else a row for
// each comparison.
class ScreenTable {
 public:
  ScreenTable(const std::vector<const Analysis*>& numbers, std::size_t width)
      : numbers_(numbers),
        width_(width),
        is_adjusted_(
            std::ranges::any_of(numbers, [](const Analysis* each) { return has_family(*each); })) {
    if (numbers_.size() == 1 && is_one_treatment(*numbers_.front()))
      add_versions(*numbers_.front());
    else
      for (const Analysis* each : numbers_) add_comparisons(*each);
  }

  [[nodiscard]] std::size_t lines() const { return rows_.empty() ? 0 : rows_.size() + 1; }
  // Fits the table to the width.
  [[nodiscard]] std::string render(bool colour) const {
    const auto [columns, length] = fitting_form();
    return grid_of(columns, length).render(colour);
  }
  // The number of columns that have no room. The full report has them.
  [[nodiscard]] std::size_t hidden_columns() const {
    const Columns columns = fitting_form().first;
    return (columns.p ? 0U : 1U) + (with_mean_ && !columns.mean ? 1U : 0U) +
           (columns.interval ? 0U : 1U);
  }
  // Cuts the table to at most `lines` lines. Rows without a verdict go first. Returns how many rows
  // it removed.
  std::size_t cut_to(std::size_t lines) {
    const std::size_t all = rows_.size();
    const std::size_t most = std::max<std::size_t>(lines, 2) - 1;
    for (std::size_t i = rows_.size(); i-- > 0 && rows_.size() > most;)
      if (rows_[i].is_open) rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(i));
    rows_.resize(std::min(rows_.size(), most));
    return all - rows_.size();
  }

 private:
  // The columns that are shown if there is room.
  struct Columns {
    bool p = true;
    bool mean = true;
    bool interval = true;
  };
  static constexpr std::size_t least_name = 4;
  struct Form {
    Columns columns{};
    std::size_t longest = longest_name;  // the lengths of names to try
    std::size_t least = longest_name;
  };

  struct Row {
    std::string subject{};
    std::string response{};   // "": the table is about a single response
    std::string treatment{};  // "": the row is about one level
    std::string baseline{};
    std::string level{};
    std::string mean{};
    std::string change{};
    std::string interval{};
    std::string p{};
    Cell verdict{};
    bool is_open = false;
  };

  // If the table is too wide, the column p goes first, then the middle of long names, because names
  // of versions often differ at their ends. Names that are hard to tell apart are worse than a
  // missing mean, and in the end than a missing interval: the answer above the table has both.
  [[nodiscard]] std::pair<Columns, std::size_t> fitting_form() const {
    constexpr std::size_t readable = 12;
    constexpr std::array<Form, 4> forms{
        {{},
         {.columns = {.p = false}, .least = readable},
         {.columns = {.p = false, .mean = false}, .least = readable},
         {.columns = {.p = false, .mean = false, .interval = false}, .least = least_name}}};
    for (const Form& form : forms)
      for (std::size_t length = form.longest; length >= form.least; --length)
        if (grid_of(form.columns, length).width() <= width_) return {form.columns, length};
    return {forms.back().columns, least_name};
  }

  static bool is_one_treatment(const Analysis& analysis) {
    return analysis.suite == 0 && !analysis.spec.all_pairs && !analysis.means.empty() &&
           analysis.spec.treatments.size() == 1;
  }
  static bool has_many_subjects(const Analysis& analysis) {
    return std::ranges::any_of(analysis.means, [&](const auto& mean) {
      return mean.subject != analysis.means.front().subject;
    });
  }

  void add_versions(const Analysis& analysis) {
    first_ = analysis.spec.treatments.front();
    with_mean_ = true;
    for (auto mean = analysis.means.begin(); mean != analysis.means.end(); ++mean) {
      const auto end = std::find_if(mean, analysis.means.end(), [&](const auto& each) {
        return each.subject != mean->subject;
      });
      const Scale scale = scale_for({mean, end}, analysis.spec.unit);
      for (auto each = mean; each != end; ++each) {
        Row row{.subject = has_many_subjects(analysis) ? each->subject : "",
                .level = each->levels.front(),
                .mean = quantity(each->mean, scale)};
        const auto effect = std::ranges::find_if(analysis.effects, [&](const auto& one) {
          return one.subject == each->subject && one.level == each->levels.front();
        });
        if (effect != analysis.effects.end()) add_numbers(analysis, *effect, row);
        rows_.push_back(std::move(row));
      }
      mean = end - 1;
    }
  }

  void add_comparisons(const Analysis& analysis) {
    first_ = "comparison";
    std::vector<const stats::Effect*> effects;
    for (const stats::Effect& each : analysis.effects) effects.push_back(&each);
    // Effects with the same place keep their order.
    std::ranges::sort(effects, {}, [&](const stats::Effect* each) {
      return std::tuple(each->scope != stats::deciding_scope(analysis),
                        analysis.spec.place_of(each->treatment), each);
    });
    for (const stats::Effect* each : effects) {
      Row row{.subject = analysis.suite > 0 || has_many_subjects(analysis)
                             ? row_label(analysis, each->subject, each->scope)
                             : "",
              .response = numbers_.size() > 1 ? analysis.spec.response : "",
              .treatment = each->treatment,
              .baseline = each->baseline,
              .level = each->level};
      add_numbers(analysis, *each, row);
      rows_.push_back(std::move(row));
    }
  }

  void add_numbers(const Analysis& analysis, const stats::Effect& effect, Row& row) const {
    const ChangeWords words = change_words(analysis, effect);
    // A withheld effect has no adjusted numbers, so it has none under headings that say "adjusted".
    const bool family = stats::is_withheld(effect)
                            ? is_adjusted_
                            : has_family(analysis) && !stats::is_control(effect, analysis.spec);
    const auto& p = family ? effect.p_adjusted : effect.p;
    row.change = words.change;
    row.interval = family && (words.adjusted != "-" || stats::is_withheld(effect)) ? words.adjusted
                                                                                   : words.interval;
    row.p = p ? p_text(*p) : "-";
    row.is_open = effect.verdict == stats::Verdict::unsure;
    row.verdict = stats::is_control(effect, analysis.spec)
                      ? Cell{std::string(control_verdict)}
                      : Cell{std::string(verdict_text(effect.verdict, analysis.spec)),
                             verdict_style(effect.verdict)};
  }

  // "old", "opt: O1 -> O2" or "instructions opt: O1 -> O2".
  static std::string name_of(const Row& row, std::size_t longest) {
    const std::string level = without_middle(row.level, longest);
    if (row.treatment.empty()) return level;
    return fmt::format("{}{}{}: {} -> {}", without_middle(row.response, longest),
                       row.response.empty() ? "" : " ", without_middle(row.treatment, longest),
                       without_middle(row.baseline, longest), level);
  }

  [[nodiscard]] Grid grid_of(const Columns& columns, std::size_t longest) const {
    const bool with_subject =
        std::ranges::any_of(rows_, [](const Row& row) { return !row.subject.empty(); });
    const bool with_mean = with_mean_ && columns.mean;
    const stats::Spec& spec = numbers_.front()->spec;
    Grid grid;
    if (with_subject) grid.column(without_middle(spec.subject, longest), Align::left);
    grid.column(without_middle(first_, longest), Align::left);
    constexpr std::size_t longest_heading = 22;  // "time from main to exit"
    if (with_mean) grid.column(without_middle(value_words(spec), longest_heading), Align::right);
    grid.column("change", Align::right);
    if (columns.interval)
      grid.column(is_adjusted_ ? "adjusted interval" : level_text(spec.alpha) + " interval",
                  Align::right);
    if (columns.p) grid.column(is_adjusted_ ? "adjusted p" : "p", Align::right);
    grid.column("verdict", Align::left);
    for (const Row& row : rows_) {
      std::vector<Cell> cells;
      if (with_subject) cells.push_back({without_middle(row.subject, longest)});
      cells.push_back({name_of(row, longest)});
      if (with_mean) cells.push_back({row.mean, Style::bold});
      cells.push_back({row.change, Style::bold});
      if (columns.interval) cells.push_back({row.interval});
      if (columns.p) cells.push_back({row.p});
      cells.push_back(row.verdict);
      grid.row(std::move(cells));
    }
    return grid;
  }

  const std::vector<const Analysis*>& numbers_;
  std::size_t width_;
  bool is_adjusted_;  // some analysis has a family, so the headings say "adjusted"
  std::string first_;
  bool with_mean_ = false;
  std::vector<Row> rows_;
};

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// The paragraphs that fit into a number of lines. Needed paragraphs get their lines first, then
// earlier ones, and the first one of all is always included.
struct Fitted {
  std::string text;
  std::set<std::size_t> left_out;
};
Fitted fit(const std::vector<std::string>& paragraphs, std::size_t lines,
           const std::set<std::size_t>& needed = {}) {
  std::set<std::size_t> chosen;
  std::size_t used = 0;
  for (const bool is_turn_of_needed : {true, false})
    for (std::size_t i = 0; i < paragraphs.size(); ++i) {
      if ((i == 0 || needed.contains(i)) != is_turn_of_needed) continue;
      const std::size_t more = lines_in(paragraphs[i]);
      if (i > 0 && used + more > lines) continue;
      chosen.insert(i);
      used += more;
    }
  Fitted result;
  for (std::size_t i = 0; i < paragraphs.size(); ++i)
    if (chosen.contains(i))
      result.text += paragraphs[i];
    else
      result.left_out.insert(i);
  return result;
}

// Adds spaces to words that are longer than `room` columns, so that a paragraph can break them.
std::string with_breaks(std::string_view text, std::size_t room) {
  std::string result;
  std::size_t used = 0;  // columns of the word so far
  for (const char c : text) {
    const bool begins_character = (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    if (c == ' ') {
      used = 0;
    } else if (begins_character && ++used > room) {
      result += ' ';
      used = 1;
    }
    result += c;
  }
  return result;
}

// A paragraph of a screen, in which nothing is wider than the screen.
std::string on_screen(std::string_view first, std::string_view text, std::size_t width) {
  const std::size_t indent = display_width(first);
  return paragraph(first, with_breaks(one_line(text, longest), width - indent), width);
}

// Keeps the first lines, at least one, of a paragraph that is too long. Its lines are indented.
std::string first_lines(std::string text, std::size_t most, std::size_t width) {
  constexpr std::string_view more = " ...";
  most = std::max<std::size_t>(most, 1);
  if (lines_in(text) <= most) return text;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < most; ++i) begin = text.find('\n', begin) + 1;
  text.resize(text.find('\n', begin));
  do text.resize(text.rfind(' '));
  while (text.size() > begin + 1 && display_width(text.substr(begin)) + more.size() > width);
  return text.append(more) + "\n";
}

std::size_t lines_of_all(const std::vector<std::string>& paragraphs) {
  std::size_t all = 0;
  for (const std::string& each : paragraphs) all += lines_in(each);
  return all;
}

constexpr std::string_view full_label = "With --full: ";

std::string counted(std::size_t n, std::string_view one, std::string_view many) {
  return n == 0 ? "" : fmt::format("{} more {}, ", n, n == 1 ? one : many);
}

// Says in at most two lines what was random, what was not, and why. Long reasons and costs are cut
// first. Without a trial nobody knows what trials do.
std::string short_random(const Document& document) {
  constexpr std::size_t most_lines = 2;
  if (document.trials.ok == 0) return "";
  for (const std::size_t longest_reason : {longest, 60UL, 40UL, 25UL, 15UL})
    if (std::string text = drawn_text(document.drawn, longest_reason);
        lines_in(on_screen("  Random    ", text, screen_width)) <= most_lines)
      return text;
  return drawn_text(document.drawn, 0) + " (see --full)";
}

// How quiet the machine was, without the reasons; "" if it was good.
std::string short_quiet(const Quietness& quietness) {
  if (quietness.found.empty() || quietness.grade == "good") return "";
  return quietness.grade.empty() ? "not known" : quietness.grade + " for measurements";
}

// For a busy machine. Nobody knows by how much the load widens intervals, so the text says what to
// do.
std::string short_load(const Load& load) {
  return load_numbers(load) +
         ": the machine was busy, which widens the intervals (see 'stabctl doctor')";
}

// Each benchmark has a control of its own. The one that limits verdicts most is shown. If one of
// them has an interval but no ratio, they are compared by their differences.
std::string control_known(const Analysis& analysis) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  std::vector<const stats::Effect*> controls;
  bool by_share = true;
  for (const stats::Effect& each : analysis.effects) {
    if (!stats::is_control(each, analysis.spec) || each.scope != stats::deciding_scope(analysis))
      continue;
    controls.push_back(&each);
    if (each.reach && !each.reach->share && each.reach->difference) by_share = false;
  }
  if (controls.empty()) return "";
  const auto reach = [&](const stats::Effect* each) {
    if (!each->reach) return endless;
    return (by_share ? each->reach->share : each->reach->difference).value_or(endless);
  };
  const stats::Effect* control = *std::ranges::max_element(controls, {}, reach);
  const std::string where =
      controls.size() > 1
          ? fmt::format("on {}, ", row_label(analysis, control->subject, control->scope))
          : "";
  if (reach(control) == endless)
    return fmt::format(
        "{}the first level was measured twice, but the difference between the two measurements "
        "has no interval, so there is no verdict",
        where);
  const auto& low = control->difference_low;
  const auto& high = control->difference_high;
  return fmt::format(
      "{}the first level was measured twice, with a difference of {}, so there is no verdict on "
      "smaller changes{}",
      where,
      by_share ? interval_text(control->low, control->high)
               : range_text(low, high, difference_scale(analysis, control->subject, low, high)),
      controls.size() > 1
          ? fmt::format("; no other {} has a larger difference", name(analysis.spec.subject))
          : "");
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : std::views::split(text, '\n')) lines.emplace_back(std::string_view(line));
  return lines;
}

// If a daemon answers, the user called 'stabctl report' and has to add only --full.
std::string full_command(const Document& document) {
  if (document.folder.empty()) return "";
  const std::string command = fmt::format("stabctl report --full {} --folder ", document.id);
  const std::string folder = shell_quote(document.folder);
  const bool fits = full_label.size() + command.size() + folder.size() <= screen_width;
  return command + (fits ? folder : "FOLDER");
}

}  // namespace

Screen screen_of(const Document& document) {
  const Analysis& analysis = document.analysis;
  Screen screen{.title = fmt::format("{}  (experiment {}, {})", one_line(document.experiment, 45),
                                     document.id, one_line(document.state, 12)),
                .question = document.question,
                .answer = split_lines(answer_of(document)),
                .notes = analysis.notes,
                .full = "all tables",
                .command = full_command(document)};
  const auto known = [&](std::string label, std::string text, bool is_needed = false) {
    if (!text.empty()) screen.trust.push_back({std::move(label), std::move(text), is_needed});
  };
  known("Trials", trials_text(document), true);
  const Layouts& layouts = document.layouts;
  const bool warns = layouts.fixed_heaps > 0 || layouts.few_epochs > 0;
  known("Quiet", short_quiet(document.quietness), true);
  known("Relative", relative_text(document), true);
  known("Compiler", document.compiler);
  known("Reason", document.reason);
  if (document.looked_early)
    known("Early",
          "the experiment has not reached its planned end; the error rate of its verdicts holds "
          "only if you look at the results once, at the planned end",
          true);
  if (document.exclusions && document.exclusions->disturbed > 0)
    known("Excluded", dependence_text(*document.exclusions));
  known("Output", outputs_text(document.outputs), true);
  if (document.simulated) known("Simulated", simulated_text());
  for (const std::string& each : disagreements(document)) known("Disagree", each);
  known("Layout", layouts_text(layouts, true), warns);
  known("Control", control_known(analysis));
  if (document.load.is_busy()) known("Load", short_load(document.load));
  known("Random", short_random(document));
  known("Cost", cost_text(document), document.cost && document.cost->is_large());
  known("Noise", document.noise ? noise_text(*document.noise, !analysis.spec.control.empty()) : "");
  known("Tests", rejected_assumptions(analysis, Rejected::with_consequences), true);
  screen.numbers.push_back(&analysis);
  for (const Analysis& each : document.others) screen.numbers.push_back(&each);
  if (!document.causes.empty()) {
    const FailureCause& first = document.causes.front();
    // The sentence about failures is the first one if something is unsure, else the last one. If it
    // already quotes the output, the end of the output comes after all sentences.
    const bool is_quoted = std::ranges::any_of(
        first.last_lines, [&](const std::string& line) { return first.why.contains(line); });
    screen.said_behind = document.findings().unsure && !is_quoted ? 1 : screen.answer.size();
    if (!document.findings().unsure) screen.kept_sentence = screen.answer.size() - 1;
    if (!first.last_lines.empty()) {
      screen.said = fmt::format("The output of the first failure ended with: {}",
                                fmt::join(first.last_lines, " | "));
    }
    screen.next = fmt::format(
        "'stabctl logs {}' shows the output of failed builds and trials. For an experiment of "
        "'stabctl run', add --folder FOLDER.",
        document.id);
  }
  return screen;
}

namespace {

// `ends` is the number of lines about --full.
std::string filled(const Screen& screen, const TextOptions& options, std::size_t ends) {
  const std::size_t width = std::min(options.width, screen_width);
  std::string head =
      styled(without_middle(screen.title, width), Style::bold, options.colour) + "\n";
  if (!screen.question.empty()) head += on_screen("", one_line(screen.question, 2 * width), width);
  head += "\n";
  std::vector<std::string> answer;
  const TextOptions narrow{.colour = options.colour, .width = width};
  constexpr std::string_view answer_label = "Answer: ";
  const std::string answer_indent(answer_label.size(), ' ');
  for (const std::string& each : screen.answer) {
    answer.push_back(on_screen(answer_indent, each, width));
  }
  if (!screen.said.empty())
    answer.insert(
        answer.begin() + static_cast<std::ptrdiff_t>(std::min(screen.said_behind, answer.size())),
        on_screen(answer_indent, screen.said, width));
  std::vector<std::string> trust;
  std::set<std::size_t> needed;
  for (const Screen::Known& each : screen.trust) {
    if (each.is_needed) needed.insert(trust.size());
    trust.push_back(on_screen(fmt::format("  {:<9} ", each.label), each.text, width));
  }
  ScreenTable table(screen.numbers, width);
  // Users copy commands from here, so their words stay whole.
  const std::string next = screen.next.empty() ? "" : labelled("Next: ", screen.next, narrow);
  // Each part also has an empty line before it.
  const std::size_t room =
      screen_lines - std::min(screen_lines, lines_in(head) + lines_in(next) + ends + 3);
  const std::size_t least_table = std::min<std::size_t>(table.lines(), 4);
  std::size_t needed_lines = 0;
  for (const std::size_t i : needed) needed_lines += lines_in(trust[i]);
  const std::size_t least_trust = std::max(std::min<std::size_t>(lines_of_all(trust), 4),
                                           std::min<std::size_t>(needed_lines, 7));
  const std::size_t reserved = least_table + least_trust;
  const std::size_t for_answer = room - std::min(room, reserved);
  constexpr std::size_t longest_sentence = 7;  // lines
  const std::size_t least_rest = needed_lines + least_table;
  if (!answer.empty()) {
    const std::size_t left = room - std::min(room, least_rest);
    answer.front() = first_lines(std::move(answer.front()),
                                 std::max(for_answer, std::min(left, longest_sentence)), width);
  }
  if (!screen.answer.empty())
    answer.front().replace(0, answer_label.size(),
                           styled(answer_label, Style::bold, options.colour));
  const Fitted answered = fit(answer, for_answer, {screen.kept_sentence});
  std::size_t rest = room - std::min(room, lines_in(answered.text));
  const std::size_t for_trust =
      std::max(std::max(rest, least_table) - least_table,
               std::min(needed_lines, rest - std::min(rest, least_table)));
  const Fitted trusted = fit(trust, for_trust, needed);
  rest -= std::min(rest, lines_in(trusted.text));
  const std::size_t hidden_rows = table.lines() > rest ? table.cut_to(rest) : 0;
  rest -= std::min(rest, table.lines());
  std::vector<std::string> notes;
  for (const std::string& each : screen.notes)
    notes.push_back(on_screen("  Note      ", each, width));
  std::size_t noted = 0;
  std::string note_text;
  while (noted < notes.size() && lines_in(note_text) + lines_in(notes[noted]) <= rest)
    note_text += notes[noted++];
  std::string text = head + answered.text + "\n" + trusted.text + note_text;
  if (table.lines() > 0) text += "\n" + table.render(options.colour);
  text += "\n" + next;
  if (screen.full.empty()) return text;
  const auto facts = static_cast<std::size_t>(std::ranges::count_if(
      trusted.left_out, [&](std::size_t i) { return screen.trust[i].is_in_full; }));
  text += labelled(
      full_label,
      counted(answered.left_out.size(), "sentence", "sentences") +
          counted(table.lines() > 0 ? table.hidden_columns() : 0, "column", "columns") +
          counted(hidden_rows, "row", "rows") + counted(notes.size() - noted, "note", "notes") +
          counted(facts, "fact", "facts") + screen.full + (screen.command.empty() ? "." : ":"),
      narrow);
  if (!screen.command.empty()) text += std::string(full_label.size(), ' ') + screen.command + "\n";
  return text;
}

}  // namespace

std::string shown(const Screen& screen, const TextOptions& options) {
  // The number of lines about --full depends on how much is left out.
  std::string text;
  for (std::size_t ends = 2; ends <= 4; ++ends) {
    text = filled(screen, options, ends);
    if (lines_in(text) <= screen_lines) break;
  }
  return text;
}

}  // namespace stab::report
