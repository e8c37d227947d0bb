// SPDX-License-Identifier: MIT
#include "stats/verdicts/dependence.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"

namespace stab::stats {
namespace {

constexpr std::size_t usual_deals = 9'999;
constexpr std::size_t most_steps = 200'000'000;  // steps of all deals together: about a second

// Enough deals that the smallest p is well below alpha: 399 for an alpha of 0.05, 19,999 for 0.001.
std::size_t needed_deals(double alpha) {
  return static_cast<std::size_t>(std::ceil(20 / alpha)) - 1;
}

// The cells of a stratum's trials. The marks are on `marks` of these trials.
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
  [[nodiscard]] std::size_t steps_of_a_deal() const { return marks_ + expected_.size(); }
  [[nodiscard]] double observed() const { return distance(observed_); }

  // An upper bound of the probability that any cell is off by as much as the worst one. It uses
  // Bernstein's inequality for each cell: a hypergeometric number is distributed as a sum of
  // independent indicators (Vatutin and Mikhailov, 1982), and the strata are independent.
  [[nodiscard]] double bound() const {
    double cells = 0;
    double least = 0;
    for (std::size_t cell = 0; cell < expected_.size(); ++cell) {
      if (expected_[cell] == 0) continue;
      ++cells;
      const double off = std::abs(static_cast<double>(observed_[cell]) - expected_[cell]);
      if (off > 0) least = std::min(least, -off * off / (2 * (variance_[cell] + off / 3)));
    }
    return std::min(1.0, 2 * cells * std::exp(least));
  }

  // Returns the statistic of another deal.
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
      variance_.resize(expected_.size());
    }
    const auto trials = static_cast<double>(hand.cells.size());
    const double share = static_cast<double>(hand.marks) / trials;
    for (auto first = hand.cells.begin(); first != hand.cells.end();) {
      const auto end =
          std::find_if(first, hand.cells.end(), [&](auto cell) { return cell != *first; });
      const auto own = static_cast<double>(end - first);
      variance_[*first] += share * (1 - share) * own * (trials - own) / (trials - 1);
      first = end;
    }
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
  std::vector<double> variance_;
  std::vector<std::size_t> observed_;
  std::vector<std::size_t> counts_;
  std::size_t marks_ = 0;
};

}  // namespace

Dependence dependence_on_cell(std::span<const Marked> trials, std::uint64_t seed, double alpha) {
  Deck deck({trials.begin(), trials.end()});
  Dependence result{.marks = deck.marks()};
  if (result.marks == 0) return result;
  result.statistic = deck.observed();
  const std::size_t needed = needed_deals(alpha);
  const std::size_t affordable = most_steps / deck.steps_of_a_deal();
  if (affordable < needed) {
    result.p = deck.bound();
    return result;
  }
  result.dealt = std::min(affordable, std::max(needed, usual_deals));
  Random random(derive(seed, "dependence"));
  // Another deal may be exactly as far as the observed one, but sum equal parts in another order
  // and so differ by rounding.
  const double as_far = result.statistic * (1 - 1e-9);
  std::size_t far = 0;
  for (std::size_t i = 0; i < result.dealt; ++i) far += deck.deal(random) >= as_far ? 1 : 0;
  result.p = static_cast<double>(far + 1) / static_cast<double>(result.dealt + 1);
  return result;
}

}  // namespace stab::stats
