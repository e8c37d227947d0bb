// SPDX-License-Identifier: MIT
// Makes the document that a report shows from an experiment's stored rows.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "plan/plan.h"
#include "report/model.h"
#include "results/stopping.h"
#include "results/trials.h"
#include "store/reader.h"

namespace stab::results {

// Kinds of events that the daemon stores before the first trial, in this order, and that reports
// quote: how good the machine is for measurements, its software versions, which of its settings
// were made quiet, and which were not and why.
inline constexpr std::string_view doctor_event = "doctor";
inline constexpr std::string_view versions_event = "versions";
inline constexpr std::string_view quieted_event = "quieted";
inline constexpr std::string_view loud_event = "loud";
// How long the experiment waited for a quiet machine; the next trial also has it as readings.
inline constexpr std::string_view wait_event = "wait";
inline constexpr std::string_view wait_reading = "quiet-wait-ns";
inline constexpr std::string_view wait_in_vain_reading = "quiet-wait-in-vain";

// Works at any time of an experiment's life, with the trials stored so far. `database` is a path
// that the report shows; "" shows no path.
Result<report::Document> make_document(store::Reader& store, const store::Experiment& experiment,
                                       const std::string& database, const Asked& asked = {});

// Applies the plan's stopping rule to the first `blocks` measured blocks. The plan must have a
// rule.
store::Outcome<Look> look_at_trials(store::Reader& store, const store::Experiment& experiment,
                                    const plan::Plan& plan, std::uint32_t blocks);

}  // namespace stab::results
