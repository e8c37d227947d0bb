// SPDX-License-Identifier: MIT
// Stored rows of an experiment -> the document that a report shows.
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

// Kinds of events that the daemon stores before the first trial, in this order, and reports quote:
// how good the machine is for measurements, which of its settings were made quiet, and which were
// not and why.
inline constexpr std::string_view doctor_event = "doctor";
inline constexpr std::string_view versions_event = "versions";
inline constexpr std::string_view quieted_event = "quieted";
inline constexpr std::string_view loud_event = "loud";
// What was checked out in the git repository of the plan when it was submitted: BRANCH@COMMIT. The branch is "" if HEAD
// named a commit alone.
inline constexpr std::string_view source_event = "source";
// "" if there is no commit, or if the two cannot be names of git's.
std::string source_text(const report::Source& source);
// How long it waited for a quiet machine; the next trial has that as readings, too.
inline constexpr std::string_view wait_event = "wait";
inline constexpr std::string_view wait_reading = "quiet-wait-ns";
inline constexpr std::string_view wait_in_vain_reading = "quiet-wait-in-vain";

// Works at any time of an experiment's life, on what there is. `database` is shown to the reader;
// "" is not.
Result<report::Document> make_document(store::Reader& store, const store::Experiment& experiment,
                                       const std::string& database, const Asked& asked = {});

// What the plan's stopping rule says of the first `blocks` measured blocks; the plan has one.
store::Outcome<Look> look_at_trials(store::Reader& store, const store::Experiment& experiment,
                                    const plan::Plan& plan, std::uint32_t blocks);

}  // namespace stab::results
