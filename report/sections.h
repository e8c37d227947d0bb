// SPDX-License-Identifier: MIT
// The tables of the text report; each is "" if the analysis has nothing for it.
#pragma once

#include <string>

#include "report/model.h"
#include "report/text.h"
#include "stats/analysis.h"

namespace stab::report {

inline constexpr std::size_t page_width = 96;

// A heading with an explanation under it.
std::string heading(std::string_view title, std::string_view explanation,
                    const TextOptions& options);

std::string means_section(const stats::Analysis& analysis, const TextOptions& options);
std::string effects_section(const stats::Analysis& analysis, const TextOptions& options);
std::string padding_section(const stats::Analysis& analysis, const TextOptions& options);
// What a fractional design cannot tell apart.
std::string aliases_section(const stats::Analysis& analysis, const TextOptions& options);
std::string components_section(const stats::Analysis& analysis, const TextOptions& options);
std::string interactions_section(const stats::Analysis& analysis, const TextOptions& options);
std::string spread_section(const stats::Analysis& analysis, const TextOptions& options);
std::string assumptions_section(const stats::Analysis& analysis, const TextOptions& options);
// The comparisons whose assumptions fail, beside tests that do not need them.
std::string alternatives_section(const stats::Analysis& analysis, const TextOptions& options);
std::string calibration_section(const stats::Analysis& analysis, const TextOptions& options);
// "this machine's noise floor: 0.83 % ..."
std::string noise_text(const NoiseFloor& floor);
std::string date_text(std::int64_t ns_since_1970);  // "2026-11-20", UTC
std::string anova_section(const stats::Analysis& analysis, const TextOptions& options);

}  // namespace stab::report
