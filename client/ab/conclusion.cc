// SPDX-License-Identifier: MIT
#include "client/ab/conclusion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "counters/readings.h"
#include "report/sections/section.h"
#include "report/words/answer.h"

namespace stab::client::ab {
namespace {

std::string duration(double ns) {
  return format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
}

// Words for the number that is compared.
struct Subject {
  bool time = true;
  bool memory = false;
  bool relative = false;  // to the CPU time of the first version, which runs beside each trial
  std::string noun;       // "CPU time", "peak memory"
  std::string of;         // " in CPU time"; "" for the wall time, which need not be named
};

Subject subject_of(const report::Document& document) {
  const std::string& response = document.analysis.spec.response;
  Subject subject;
  subject.memory = response == "max_rss";
  subject.relative = response == counters::relative_cpu;
  subject.time = subject.relative || document.analysis.spec.unit == stats::Unit::nanoseconds;
  subject.noun = response == "wall"                      ? "wall time"
                 : response == "user"                    ? "user CPU time"
                 : response == "system"                  ? "system CPU time"
                 : response == "cpu" || subject.relative ? "CPU time"
                 : subject.memory                        ? "peak memory"
                                                         : response;
  if (response != "wall") subject.of = " in " + subject.noun;
  return subject;
}

// "+5.2 % (95 % interval +4.1 % to +6.3 %)", with the digits of the reports' tables. A ratio of 2
// or more is not shown in percent. A fact has no interval.
std::string numbers_of(const stats::Effect& effect, const Subject& subject) {
  const double ratio = effect.ratio.value();
  if (effect.exact && ratio >= 2)
    return fmt::format("{} times as {}", rounded(ratio, 3), subject.time ? "long" : "much");
  if (effect.exact) return fmt::format("{:+.4g} %", 100 * (ratio - 1));
  const double low = effect.low.value();
  const double high = effect.high.value();
  if (ratio >= 2) {
    const auto [from, to] = rounded_ends(low, high, 3);
    return fmt::format("{} times as {} (95 % interval {} to {} times)", rounded(ratio, 3),
                       subject.time ? "long" : "much", from, to);
  }
  const auto percent = [&](double value) { return report::percent_change(value, low, high); };
  return fmt::format("{} (95 % interval {} to {})", percent(ratio), percent(low),
                     high < 10 ? percent(high) : rounded(high, 3) + " times");
}

// In percent.
double margin_of(const report::Document& document) {
  return 100 * document.analysis.spec.equivalence.value_or(0);
}

// A century is longer than the largest duration in nanoseconds that is shown.
constexpr double century_ns = 3e18;

bool could_run_beside(const std::string& response) {
  return response == "wall" || response == "cpu" || response == "user";
}

// Suggests what to do when the trials cannot tell two versions apart.
std::string what_it_takes(const report::Document& document, const stats::Effect& effect) {
  std::uint64_t blocks = 0;
  for (const stats::CellMean& mean : document.analysis.means)
    blocks = std::max<std::uint64_t>(blocks, mean.n);
  if (!effect.needed || blocks == 0) return "; a longer --budget may settle it";
  // On several machines `needed` counts the blocks of all, and a round has one on each.
  const stats::Analysis& analysis = document.analysis;
  const double in_round =
      analysis.spec.machines ? static_cast<double>(std::max<std::size_t>(analysis.suite, 1)) : 1;
  const double needed = std::ceil(static_cast<double>(*effect.needed) / in_round);
  const double round = std::chrono::duration<double, std::nano>(document.duration).count() /
                       static_cast<double>(blocks);
  // If the rounds that usually suffice were not enough, the change is near the margin.
  if (needed <= static_cast<double>(blocks))
    return fmt::format("; about {} rounds, {}, would make the interval half as wide (--budget)",
                       4 * blocks, duration(4 * static_cast<double>(blocks) * round));
  if (needed * round > century_ns)
    return "; that would take more than a century: choose a larger --margin";
  return fmt::format(
      "; about {:.0f} rounds, {}, would settle it to within {:g} % (--budget); a larger "
      "--margin{} needs fewer rounds",
      needed, duration(needed * round), margin_of(document),
      could_run_beside(analysis.spec.response) ? " or --beside" : "");
}

// Says why there is no verdict if the numbers don't show it, or else what would settle it.
std::string why_unsure(const report::Document& document, const stats::Effect& effect) {
  if (effect.reason.empty()) return what_it_takes(document, effect);
  return fmt::format("; no verdict: {} (a longer --budget may help; --full says more)",
                     effect.reason);
}

// "-26 % or +36 %": how far a control reaches in both directions.
std::string both_sides(double reach) {
  const auto [down, up] = rounded_ends(100 * (1 / (1 + reach) - 1), 100 * reach, 2);
  return fmt::format("{} % or +{} %", down, up);
}

std::string how_lost(const std::string& version, const TrialsOf& trials) {
  return fmt::format("{} failed in {} of {} trials ({})", version, trials.lost,
                     trials.lost + trials.ok, trials.why);
}

constexpr const char* too_few = "there are too few trials; use a longer --budget";

// Too few trials, and a look that comes too early, may give a ratio without an interval. A fact
// needs none.
bool can_be_judged(const stats::Effect& effect) {
  return effect.ratio && (effect.exact || (effect.low && effect.high));
}

class Judge {
 public:
  Judge(const report::Document& document, const Compared& compared)
      : document_(document), compared_(compared) {}

  [[nodiscard]] Line line_of(const std::string& version) const {
    const std::string& baseline = compared_.versions.front();
    const auto none = [&](const std::string& why) {
      return Line{version, "none",
                  fmt::format("cannot compare {} with {}: {}", version, baseline, why)};
    };
    for (const std::string& each : {version, baseline})
      if (const TrialsOf trials = trials_of(each); trials.lost > 0)
        return none(how_lost(each, trials));
    const stats::Effect* effect = effect_of(version);
    if (effect == nullptr) return none(too_few);
    if (!can_be_judged(*effect)) return none(effect->reason.empty() ? too_few : effect->reason);
    return judged(*effect);
  }
  // The comparison of a version with the first one; on several machines, that of all together. May
  // be nullptr.
  [[nodiscard]] const stats::Effect* effect_of(const std::string& version) const {
    const stats::Analysis& analysis = document_.analysis;
    const auto found = std::ranges::find_if(analysis.effects, [&](const stats::Effect& each) {
      return each.level == version && each.baseline == compared_.versions.front() &&
             each.scope == stats::deciding_scope(analysis);
    });
    return found == analysis.effects.end() ? nullptr : &*found;
  }
  [[nodiscard]] TrialsOf trials_of(const std::string& version) const {
    const auto found = compared_.trials.find(version);
    return found == compared_.trials.end() ? TrialsOf() : found->second;
  }

 private:
  [[nodiscard]] Line judged(const stats::Effect& effect) const {
    if (effect.held_back)
      return {effect.level, "unsure", held_back(effect, *effect.held_back == stats::Verdict::same)};
    const std::string& version = effect.level;
    const std::string& baseline = effect.baseline;
    const Subject subject = subject_of(document_);
    const std::string numbers = numbers_of(effect, subject);
    switch (effect.verdict) {
      case stats::Verdict::same:
        return {version, "same",
                subject.time ? fmt::format("{} is as fast as {}{}, within {:g} %: {}", version,
                                           baseline, subject.of, margin_of(document_), numbers)
                             : fmt::format("{} has as much {} as {}, within {:g} %: {}", version,
                                           subject.noun, baseline, margin_of(document_), numbers)};
      case stats::Verdict::faster:
      case stats::Verdict::slower: {
        const bool faster = effect.verdict == stats::Verdict::faster;
        const std::string verdict = faster ? "faster" : "slower";
        return {version, verdict,
                subject.time ? fmt::format("{} is {} than {}{}: {}", version, verdict, baseline,
                                           subject.of, numbers)
                             : fmt::format("{} has {} {} than {}: {}", version,
                                           faster ? report::less_of(subject.noun) : "more",
                                           subject.noun, baseline, numbers)};
      }
      case stats::Verdict::unsure:
        break;
    }
    return {version, "unsure",
            subject.time
                ? fmt::format("cannot tell whether {} is faster or slower than {}{}: {}{}", version,
                              baseline, subject.of, numbers, why_unsure(document_, effect))
                : fmt::format("cannot tell whether {} has more or {} {} than {}: {}{}", version,
                              report::less_of(subject.noun), subject.noun, baseline, numbers,
                              why_unsure(document_, effect))};
  }

  // The sentence for a verdict that the numbers alone would give, but the control does not allow.
  [[nodiscard]] std::string held_back(const stats::Effect& effect, bool same) const {
    const std::string control = effect.reach && effect.reach->share
                                    ? fmt::format("two measurements of {} may differ by {}",
                                                  effect.baseline, both_sides(*effect.reach->share))
                                    : effect.baseline + " has no control";
    const Subject subject = subject_of(document_);
    const std::string numbers = numbers_of(effect, subject);
    const std::string question =
        same ? subject.time ? fmt::format("{} is as fast as {}{}, within {:g} %", effect.level,
                                          effect.baseline, subject.of, margin_of(document_))
                            : fmt::format("{} has as much {} as {}, within {:g} %", effect.level,
                                          subject.noun, effect.baseline, margin_of(document_))
        : subject.time ? fmt::format("{} is faster or slower than {}{}", effect.level,
                                     effect.baseline, subject.of)
                       : fmt::format("{} has more or {} {} than {}", effect.level,
                                     report::less_of(subject.noun), subject.noun, effect.baseline);
    return fmt::format("cannot tell whether {}: {}, but {}{}", question, numbers, control,
                       what_it_takes(document_, effect));
  }

  const report::Document& document_;
  const Compared& compared_;
};

Control control_of(const report::Document& document, const Judge& judge, const Compared& compared) {
  Control control{.line = judge.line_of(compared.control), .can_tell = std::nullopt};
  const std::string& first = compared.versions.front();
  Line& line = control.line;
  if (line.verdict == "none") {
    line.sentence =
        fmt::format("the control: {}; without a control there is no verdict", line.sentence);
    return control;
  }
  const stats::Effect& effect = *judge.effect_of(compared.control);
  if (effect.reach) control.reach = effect.reach->share;
  const std::string found = fmt::format("the control measured {} twice: {}", first,
                                        numbers_of(effect, subject_of(document)));
  if (effect.exact && *effect.ratio == 1) {
    control.reach = control.can_tell = 0;
    line.sentence = fmt::format("the control measured {} twice: no difference", first);
  } else if (!control.reach) {
    line.sentence = found + ": the difference has no bound, so there is no verdict";
  } else if (line.verdict == "faster" || line.verdict == "slower") {
    line.sentence = fmt::format(
        "on this machine {} differs from itself ({}): only changes beyond {} get a verdict; "
        "'stabctl doctor' shows what disturbs the machine",
        first, found, both_sides(*control.reach));
  } else {
    control.can_tell = control.reach;
    line.sentence =
        fmt::format("{}: this run can detect changes beyond {}", found, both_sides(*control.reach));
  }
  return control;
}

// "environment, addresses, functions; not heap blocks (--no-heap), stack frames"
std::string random_words(const Judge& judge, const Compared& compared) {
  const bool moved = std::ranges::all_of(compared.versions, [&](const std::string& version) {
    const TrialsOf trials = judge.trials_of(version);
    return trials.ok > 0 && trials.moved == trials.ok;
  });
  std::string random = "environment, addresses";
  std::string fixed;
  (moved ? random : fixed) +=
      moved ? ", functions" : "functions (szc did not build all versions), ";
  if (compared.why_no_heap.empty())
    random += ", heap blocks" +
              (compared.heap_cost.empty() ? "" : fmt::format(" ({})", compared.heap_cost));
  else
    fixed += fmt::format("heap blocks ({}), ", compared.why_no_heap);
  if (compared.padded)
    random += ", stack frames";
  else
    fixed += compared.why_no_pads.empty()
                 ? "stack frames, "
                 : fmt::format("stack frames ({}), ", compared.why_no_pads);
  if (!fixed.empty()) fixed.resize(fixed.size() - 2);  // without the last ", "
  return random + (fixed.empty() ? "" : "; not: " + fixed);
}

std::string randomized_parts(const Judge& judge, const Compared& compared) {
  std::vector<std::string> moved;
  std::vector<std::string> fixed;
  for (const std::string& version : compared.versions) {
    const TrialsOf trials = judge.trials_of(version);
    (trials.ok > 0 && trials.moved == trials.ok ? moved : fixed).push_back(version);
  }
  std::vector<std::string> random{"the addresses of stack, heap and libraries"};
  std::vector<std::string> rest;
  const bool some = !fixed.empty() && !moved.empty();
  if (fixed.empty())
    random.emplace_back("the positions of functions");
  else
    rest.push_back("the positions of functions" +
                   (some ? fmt::format(" of {}", fmt::join(fixed, ", ")) : ""));
  if (compared.why_no_heap.empty())
    random.push_back("the positions of heap blocks" +
                     (compared.heap_cost.empty()
                          ? ""
                          : fmt::format(" (by a layer above the program's own allocator, which {})",
                                        compared.heap_cost)));
  else
    rest.push_back(fmt::format("the positions of heap blocks ({})", compared.why_no_heap));
  const std::string frames = "the sizes of stack frames";
  if (compared.padded)
    random.push_back(frames);
  else
    rest.push_back(compared.why_no_pads.empty()
                       ? frames
                       : fmt::format("{} ({})", frames, compared.why_no_pads));
  std::string text =
      fmt::format("The size of the environment is random in each block. Random in each trial: {}.",
                  fmt::join(random, ", "));
  if (!rest.empty()) text += fmt::format(" Not random: {}.", fmt::join(rest, ", "));
  if (some)
    return text + fmt::format(
                      " Function positions are random in {} but not in {}, so the cost of szc's "
                      "runtime is part of the difference.",
                      fmt::join(moved, ", "), fmt::join(fixed, ", "));
  if (fixed.empty()) return text;
  return text +
         " If functions do not move, a difference may come from the layouts alone; functions move "
         "in programs built by szc.";
}

// "old has 20000 bytes, new 25000 (25 % more)." Sizes are facts, so there is no interval.
std::string code_sizes(const Judge& judge, const Compared& compared) {
  std::vector<std::string> parts;
  double first = 0;
  for (const std::string& version : compared.versions) {
    const TrialsOf trials = judge.trials_of(version);
    if (trials.code.size() != 1 || *trials.code.begin() <= 0) return "";
    const std::int64_t bytes = *trials.code.begin();
    if (parts.empty()) {
      first = static_cast<double>(bytes);
      parts.push_back(fmt::format("{} has {} bytes", version, bytes));
      continue;
    }
    const double ratio = static_cast<double>(bytes) / first;
    std::string change =
        fmt::format("{:.3g} % {}", 100 * std::abs(ratio - 1), ratio < 1 ? "less" : "more");
    if (ratio >= 2) change = fmt::format("{:.4g} times as many", ratio);
    parts.push_back(ratio == 1 ? fmt::format("{} as many", version)
                               : fmt::format("{} {} ({})", version, bytes, change));
  }
  return fmt::format("{}.", fmt::join(parts, ", "));
}

// Finds versions that one command built with szc in all trials, and others that it built without
// szc: these differ in their compilers, whatever else changed. "" if there are no such versions.
std::string built_differently(const Judge& judge, const Compared& compared) {
  if (!compared.built) return "";
  std::vector<std::string> by_szc;
  std::vector<std::string> others;
  for (const std::string& version : compared.versions) {
    const TrialsOf trials = judge.trials_of(version);
    if (trials.ok == 0) continue;
    if (trials.moved == trials.ok) by_szc.push_back(version);
    if (trials.moved == 0) others.push_back(version);
  }
  return by_szc.empty() || others.empty() ? "" : not_built_alike(by_szc, others);
}

// Versions that were compiled differently get no verdict.
void take_back(Line& line, const std::string& why) {
  if (line.verdict == "none") return;
  line.sentence =
      fmt::format("no verdict, because {}; the numbers alone would mean: {}", why, line.sentence);
  line.verdict = "unsure";
  line.taken_back = true;
}

// If the control failed, no version gets a verdict.
void take_back(Line& line) {
  if (line.verdict == "none" || line.verdict == "unsure") return;
  line.sentence =
      fmt::format("no verdict without a control; the numbers alone would mean: {}", line.sentence);
  line.verdict = "unsure";
  line.taken_back = true;
}

std::optional<bool> same_output(const Judge& judge, const Compared& compared) {
  std::set<std::string> all;
  for (const std::string& version : compared.versions) {
    const TrialsOf trials = judge.trials_of(version);
    if (trials.printed.size() != 1) return std::nullopt;
    all.insert(*trials.printed.begin());
  }
  return all.size() == 1;
}

}  // namespace

std::string not_built_alike(const std::vector<std::string>& by_szc,
                            const std::vector<std::string>& others) {
  return fmt::format(
      "szc built {} but not {}: this happens if a build reuses files of an earlier build or "
      "ignores $CC and $CXX",
      fmt::join(by_szc, ", "), fmt::join(others, ", "));
}

std::vector<std::string> Conclusion::sentences() const {
  std::vector<std::string> all;
  for (const Line& line : lines) all.push_back(line.sentence);
  if (control) all.push_back(control->line.sentence);
  return all;
}

std::string foresee(const std::vector<protocol::Change>& changes, const SoFar& so_far) {
  // After few rounds, the number of rounds that are needed is known to within a factor of two.
  constexpr double uncertainty = 2;
  double needed = 0;
  for (const protocol::Change& change : changes) {
    if (change.control || change.verdict != "unsure" || !change.needed || !change.ratio) continue;
    const auto rounds = static_cast<double>(*change.needed);
    // The change that the rounds so far can find. A larger one will be found within the budget.
    const double found =
        so_far.margin *
        std::sqrt(rounds / static_cast<double>(std::max<std::uint64_t>(so_far.done, 1)));
    if (std::abs(std::log(*change.ratio)) < std::log1p(found)) needed = std::max(needed, rounds);
  }
  if (needed <= uncertainty * static_cast<double>(so_far.most)) return "";
  const double time = needed * static_cast<double>(so_far.round.count());
  const bool has_limit = so_far.limit > 0 && needed > static_cast<double>(so_far.limit);
  return fmt::format(
      "this budget is enough for about {} rounds, but about {:.0f} rounds, {}, would settle the "
      "comparison to within {:g} %: use {}a larger --margin{}",
      so_far.most, needed, time > century_ns ? "more than a century" : duration(time),
      100 * so_far.margin,
      could_run_beside(so_far.response) ? has_limit ? "--beside or " : "--beside, " : "",
      has_limit ? fmt::format(" ('stabctl ab' runs at most {} rounds)", so_far.limit)
                : " or a longer --budget");
}

Conclusion conclude(const report::Document& document, const Compared& compared) {
  const Judge judge(document, compared);
  Conclusion result;
  for (std::size_t i = 1; i < compared.versions.size(); ++i)
    result.lines.push_back(judge.line_of(compared.versions[i]));
  if (!compared.control.empty()) result.control = control_of(document, judge, compared);
  if (result.control && result.control->line.verdict == "none")
    for (Line& line : result.lines) take_back(line);
  if (const std::string why = built_differently(judge, compared); !why.empty())
    for (Line& line : result.lines) take_back(line, why);
  result.randomized = randomized_parts(judge, compared);
  result.random = random_words(judge, compared);
  result.code = code_sizes(judge, compared);
  result.same_output = same_output(judge, compared);
  for (const Line& line : result.lines) {
    result.findings.regressed |= line.verdict == "slower";
    result.findings.unsure |= line.verdict == "unsure" || line.verdict == "none";
  }
  return result;
}

std::string as_markdown(const report::Document& document, const Conclusion& conclusion) {
  const Subject subject = subject_of(document);
  const auto number = [&](double mean) {
    if (subject.time && !subject.relative) return duration(mean);
    return subject.memory ? fmt::format("{:.3g} MB", mean / 1e6) : fmt::format("{:.6g}", mean);
  };
  report::Part table;
  const auto& treatments = document.analysis.spec.treatments;
  const auto treatment = std::ranges::find(treatments, "version") - treatments.begin();
  const bool machines = document.analysis.spec.machines;
  for (const stats::CellMean& mean : document.analysis.means) {
    const std::string& version = mean.levels.at(static_cast<std::size_t>(treatment));
    const auto line = std::ranges::find(conclusion.lines, version, &Line::version);
    std::string change;
    if (line != conclusion.lines.end() && line->verdict != "none")
      for (const stats::Effect& effect : document.analysis.effects)
        if (effect.level == version && can_be_judged(effect) &&
            effect.scope == stats::deciding_scope(document.analysis))
          change = numbers_of(effect, subject);
    report::Row row{report::shown_only("version", fmt::format("`{}`", version))};
    // Each machine has a mean of its own, and the change is that on all of them.
    if (machines) row.push_back(report::shown_only("node", mean.subject));
    row.push_back(
        report::shown_only(subject.relative ? "relative CPU" : subject.noun, number(mean.mean)));
    row.push_back(report::shown_only("change", change));
    const bool is_control = conclusion.control && conclusion.control->line.version == version;
    row.push_back(report::shown_only("verdict", is_control ? std::string(report::control_verdict)
                                                : line == conclusion.lines.end() ? ""
                                                                                 : line->verdict));
    table.rows.push_back(std::move(row));
  }
  return fmt::format("{}\n- {}\n", report::markdown_table(table),
                     fmt::join(conclusion.sentences(), "\n- "));
}

}  // namespace stab::client::ab
