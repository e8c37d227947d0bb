// SPDX-License-Identifier: MIT
#include "stats/verdicts/dependence.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_deals = 9'999;
constexpr std::size_t fewest_deals = 999;
constexpr std::size_t most_steps = 20'000'000;  // of all deals together, if the fewest allow it

// The cells of a stratum's trials; the marks are on `marks` of them.
struct Hand {
  std::vector<std::uint32_t> cells{};
  std::size_t marks = 0;
};

class Deck {
 public:
  explicit Deck(std::vector<Marked> trials) {
    std::ranges::sort(trials, {}, [](const Marked& trial) {
      return std::tuple(trial.stratum, trial.cell, trial.marked);
    });
    for (auto first = trials.begin(); first != trials.end();) {
      const auto end = std::find_if(first, trials.end(), [&](const Marked& trial) {
        return trial.stratum != first->stratum;
      });
      add({first, end});
      first = end;
    }
  }

  [[nodiscard]] std::size_t marks() const { return marks_; }
  [[nodiscard]] double observed() const { return distance(observed_); }

  // The statistic of another deal.
  double deal(Random& random) {
    counts_.assign(expected_.size(), 0);
    for (Hand& hand : hands_)
      for (std::size_t i = 0; i < hand.marks; ++i) {
        std::swap(hand.cells[i], hand.cells[i + random.below(hand.cells.size() - i)]);
        ++counts_[hand.cells[i]];
      }
    return distance(counts_);
  }

 private:
  void add(std::span<const Marked> stratum) {
    Hand hand;
    for (const Marked& trial : stratum) {
      hand.cells.push_back(trial.cell);
      hand.marks += trial.marked ? 1 : 0;
    }
    const auto [least, most] = std::ranges::minmax(hand.cells);
    if (hand.marks == 0 || hand.marks == hand.cells.size() || least == most) return;
    if (expected_.size() <= most) {
      expected_.resize(most + std::size_t{1});
      observed_.resize(expected_.size());
    }
    const double share = static_cast<double>(hand.marks) / static_cast<double>(hand.cells.size());
    for (const Marked& trial : stratum) {
      expected_[trial.cell] += share;
      observed_[trial.cell] += trial.marked ? 1 : 0;
    }
    marks_ += hand.marks;
    hands_.push_back(std::move(hand));
  }

  [[nodiscard]] double distance(const std::vector<std::size_t>& counts) const {
    double sum = 0;
    for (std::size_t cell = 0; cell < expected_.size(); ++cell) {
      if (expected_[cell] == 0) continue;
      const double off = static_cast<double>(counts[cell]) - expected_[cell];
      sum += off * off / expected_[cell];
    }
    return sum;
  }

  std::vector<Hand> hands_;
  std::vector<double> expected_;  // by cell
  std::vector<std::size_t> observed_;
  std::vector<std::size_t> counts_;
  std::size_t marks_ = 0;
};

}  // namespace

Dependence dependence_on_cell(std::span<const Marked> trials, std::uint64_t seed) {
  Deck deck({trials.begin(), trials.end()});
  Dependence result{.marks = deck.marks()};
  if (result.marks == 0) return result;
  result.statistic = deck.observed();
  result.dealt = std::clamp(most_steps / result.marks, fewest_deals, most_deals);
  Random random(derive(seed, "dependence"));
  // Sums of the same numbers in the same order: but for rounding, equal deals are equal.
  const double as_far = result.statistic * (1 - 1e-9);
  std::size_t far = 0;
  for (std::size_t i = 0; i < result.dealt; ++i) far += deck.deal(random) >= as_far ? 1 : 0;
  result.p = static_cast<double>(far + 1) / static_cast<double>(result.dealt + 1);
  return result;
}

}  // namespace stab::stats
