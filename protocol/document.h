// SPDX-License-Identifier: MIT
// The part of a report's document that clients compute with, and how they ask for it. A document that
// came from a daemon has only the members listed here; the others keep their initial values.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

#include "protocol/field.h"
#include "report/model.h"

namespace stab::stats {

BOOST_DESCRIBE_STRUCT(Interval, (), (low, high))
BOOST_DESCRIBE_STRUCT(Spec, (),
                      (response, unit, treatments, log_scale, higher_is_better, control, alpha))
BOOST_DESCRIBE_STRUCT(AnovaRow, (), (stratum, term, ms))
BOOST_DESCRIBE_STRUCT(AnovaTable, (), (subject, rows))
BOOST_DESCRIBE_STRUCT(CellMean, (),
                      (subject, levels, n, mean, low, high, lost, loss_low, loss_high,
                       loss_interval_low, loss_interval_high))
BOOST_DESCRIBE_STRUCT(Effect, (),
                      (subject, scope, treatment, baseline, level, ratio, low, high, df, unit,
                       units, verdict))
BOOST_DESCRIBE_STRUCT(VarianceComponents, (), (subject, between, within))
BOOST_DESCRIBE_STRUCT(Analysis, (), (spec, tables, means, effects, components))

namespace causal {

BOOST_DESCRIBE_STRUCT(Point, (), (name, kind))
BOOST_DESCRIBE_STRUCT(Profile, (), (lines, points))
BOOST_DESCRIBE_STRUCT(Gain, (), (value, interval))
BOOST_DESCRIBE_STRUCT(Step, (), (speedup, near))
BOOST_DESCRIBE_STRUCT(Line, (), (line, finding, steps, at_quarter))
BOOST_DESCRIBE_STRUCT(PointResult, (), (point, lines))
BOOST_DESCRIBE_STRUCT(Analysis, (), (points))

}  // namespace causal
}  // namespace stab::stats

namespace stab::report {

BOOST_DESCRIBE_STRUCT(TrialCounts, (), (planned, ok, failed, skipped, disturbed))
BOOST_DESCRIBE_STRUCT(Stopping, (), (rule, blocks))
BOOST_DESCRIBE_STRUCT(Layouts, (), (randomized, unrandomized, without_runtime, random_code))
BOOST_DESCRIBE_STRUCT(Source, (), (branch, commit))
BOOST_DESCRIBE_STRUCT(CausalCell, (), (name, profile, analysis, reason))
BOOST_DESCRIBE_STRUCT(Document, (),
                      (experiment, id, machine, hardware, nodes, pool, simulated, trials, stopping,
                       layouts, from_ns, settings, source, analysis, causal))

}  // namespace stab::report

namespace stab::protocol {

// An older daemon does not send these.
template <>
inline constexpr Field field<&stats::Effect::unit>{.may_lack = true};
template <>
inline constexpr Field field<&report::Document::nodes>{.may_lack = true};
template <>
inline constexpr Field field<&report::Document::pool>{.may_lack = true};
template <>
inline constexpr Field field<&report::Layouts::random_code>{.may_lack = true};
template <>
inline constexpr Field field<&stats::Analysis::means>{.most = 1'000'000};
template <>
inline constexpr Field field<&stats::Analysis::effects>{.most = 1'000'000};
// These lists are as long as a map of a program's lines may be.
template <>
inline constexpr Field field<&stats::causal::Profile::lines>{.most = 4'000'000};
template <>
inline constexpr Field field<&stats::causal::PointResult::lines>{.most = 4'000'000};

struct ResultsReply {
  static constexpr Tag tag = ok;
  report::Document document{};
};
BOOST_DESCRIBE_STRUCT(ResultsReply, (), (document))

}  // namespace stab::protocol
