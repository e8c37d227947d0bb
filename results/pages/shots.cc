// SPDX-License-Identifier: MIT
#include "results/pages/shots.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "design/expand.h"
#include "results/sums/within_trials.h"
#include "results/trials.h"

namespace stab::results {
namespace {

using report::html::Fate;
using report::html::most_shots;
using report::html::Shot;
using report::html::Shots;

// Keeps a random sample of all shots added, each with the same probability (algorithm R of Vitter,
// ACM TOMS 1985).
class Sample {
 public:
  explicit Sample(std::uint64_t seed) : random_(seed) {}

  void add(const Shot& shot) {
    ++seen_;
    if (kept_.size() < most_shots) {
      kept_.push_back(shot);
      return;
    }
    const std::uint64_t place = random_.below(seen_);
    if (place < most_shots) kept_[place] = shot;
  }
  [[nodiscard]] std::uint64_t seen() const { return seen_; }
  [[nodiscard]] const std::vector<Shot>& kept() const { return kept_; }

 private:
  Random random_;
  std::uint64_t seen_ = 0;
  std::vector<Shot> kept_;
};

// Bounds the number of subjects, because programs may print any number of names. It keeps the
// subjects that the analysis keeps, taken from the same trials in the same order, and as many again
// that only other attempts have.
class Names {
 public:
  bool has_place(const std::string& name, bool ok) {
    std::set<std::string>& own = ok ? ok_ : others_;
    if (ok_.contains(name) || (!ok && others_.contains(name))) return true;
    return own.size() < most_subjects && own.insert(name).second;
  }

 private:
  std::set<std::string> ok_;
  std::set<std::string> others_;
};

class Collector {
 public:
  explicit Collector(const plan::Plan& plan)
      : plan_(plan),
        split_(plan.is_split(plan.analysis.response)),
        treatments_(plan::treatments(plan)),
        ok_(derive(plan.seed, "page-trials")),
        others_(derive(plan.seed, "page-other-trials")) {}

  void add(const store::Trial& trial) {
    const bool ok = trial.status == store::TrialStatus::ok;
    if (trial.warmup || (ok && !trial.last)) return;
    if (trial.status == store::TrialStatus::skipped ||
        trial.status == store::TrialStatus::build_failed)
      return;  // nothing was run
    const Fate fate = ok                                              ? Fate::ok
                      : trial.status == store::TrialStatus::disturbed ? Fate::disturbed
                                                                      : Fate::failed;
    const std::vector<SubjectNumber> numbers = numbers_of(trial, plan_, plan_.analysis.response);
    for (const SubjectNumber& each : numbers) {
      if (split_ && !names_.has_place(each.subject, ok))
        ++left_out_;
      else if (each.value)
        add(trial, each.subject, fate, counters::to_double(*each.value));
      else if (!ok)
        add(trial, each.subject, fate, Shot().value);
    }
    if (numbers.empty() && !ok) add(trial, trial.benchmark, fate, Shot().value);
  }

  Shots finish() {
    Shots result{.cells = std::move(cells_),
                 .shots = ok_.kept(),
                 .ok = ok_.seen(),
                 .others = others_.seen(),
                 .kept_ok = ok_.kept().size(),
                 .kept_others = others_.kept().size(),
                 .left_out = left_out_};
    result.shots.insert(result.shots.end(), others_.kept().begin(), others_.kept().end());
    std::ranges::sort(result.shots, {}, [](const Shot& shot) {
      return std::tuple(shot.position, shot.attempt, shot.cell);
    });
    return result;
  }

 private:
  void add(const store::Trial& trial, const std::string& subject, Fate fate, double value) {
    const std::uint32_t cell = cell_of(trial, subject);
    ++(fate == Fate::ok ? cells_[cell].ok : cells_[cell].others);
    (fate == Fate::ok ? ok_ : others_)
        .add({.position = trial.position,
              .attempt = trial.attempt,
              .block = trial.block,
              .cell = cell,
              .fate = fate,
              .value = value});
  }

  std::uint32_t cell_of(const store::Trial& trial, const std::string& subject) {
    std::vector<std::string> levels;
    for (const std::size_t index : treatments_) {
      const auto level = trial.levels.find(plan_.factors[index].name);
      levels.push_back(level == trial.levels.end() ? "" : level->second);
    }
    const auto [entry, fresh] = numbers_.try_emplace(std::pair(subject, std::move(levels)),
                                                     static_cast<std::uint32_t>(cells_.size()));
    if (fresh)
      cells_.push_back({.name = cell_text(plan_, trial, subject),
                        .subject = subject,
                        .levels = entry->first.second});
    return entry->second;
  }

  const plan::Plan& plan_;
  bool split_;
  std::vector<std::size_t> treatments_;
  Names names_;
  std::uint64_t left_out_ = 0;
  std::map<std::pair<std::string, std::vector<std::string>>, std::uint32_t> numbers_;  // by cell
  std::vector<report::html::ShotCell> cells_;
  Sample ok_;
  Sample others_;
};

}  // namespace

store::Outcome<Shots> read_shots(store::Reader& store, const store::Experiment& experiment,
                                 const plan::Plan& plan) {
  Collector collector(plan);
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    collector.add(trial);
    return true;
  });
  if (!read) return std::unexpected(read.error());
  return collector.finish();
}

}  // namespace stab::results
