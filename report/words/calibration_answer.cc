// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/words/answer.h"

namespace stab::report {
namespace {

using stats::Calibration;
using stats::Spec;

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

}  // namespace

std::string margin_words(double margin) {
  const double size = 100 * margin;
  if (!(size > 0)) return "0 %";
  const int digits = std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 0, 4);
  return fmt::format("{:.{}f} %", size, digits);
}

std::string calibration_answer(const Calibration& calibration, const Spec& spec) {
  const stats::Floor& any = calibration.any;
  std::string text;
  if (any.margin) {
    text = fmt::format("this machine cannot resolve changes below {} of {} ",
                       margin_words(*any.margin), response_words(spec));
    if (any.interval)
      text += fmt::format("({} interval {} to {}) ", percent(1 - spec.alpha),
                          margin_words(any.interval->low), margin_words(any.interval->high));
    text += fmt::format(
        "with {} blocks: {} of comparisons in which nothing differs stay within that noise floor",
        calibration.blocks, percent(1 - spec.alpha));
  } else if (any.loss_low) {
    text =
        "cannot tell what this machine resolves: trials are missing, and they may have differed by "
        "any amount (see the notes)";
  } else {
    text =
        "cannot tell what this machine resolves: there are too few comparisons (see the notes); "
        "raise 'design.comparisons' or use more benchmarks";
  }
  if (!any.share) return text;
  return text +
         fmt::format(
             "; {} of {} comparisons came out significant, {} ({} interval {} to {}), where {} is "
             "expected",
             any.significant, any.comparisons,
             percent(static_cast<double>(any.significant) / static_cast<double>(any.comparisons)),
             percent(1 - spec.alpha), percent(any.share->low), percent(any.share->high),
             percent(spec.alpha));
}

}  // namespace stab::report
