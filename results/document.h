// SPDX-License-Identifier: MIT
// Makes the document that a report shows from an experiment's stored rows.
#pragma once

#include <optional>
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
// The branch and commit that were checked out in the plan's git repository when it was submitted,
// as BRANCH@COMMIT. The branch is "" if HEAD was detached.
inline constexpr std::string_view source_event = "source";
// "" if there is no resolved commit, or if the branch is not plain text.
std::string source_text(const report::Source& source);
// The source of such a text. Both members are "" if the text doesn't have the form.
report::Source source_in(std::string_view text);
// How long the experiment waited for a quiet machine; the next trial also has it as readings.
inline constexpr std::string_view wait_event = "wait";
// The kind of the event with a node's hardware, a store::NodeFact: "AMD EPYC, 8 CPUs in ...".
inline constexpr std::string_view hardware_event = "hardware";
// The kind of the events that mark each node when the experiment ends, as store::NodeFacts. "n1: 1"
// says that n1 is in order, and "n2: 2.04" that everything took 2.04 times as long on n2. Reports of
// the ended experiment leave out the nodes that are marked as slow. The last mark of a node counts.
inline constexpr std::string_view mark_event = "mark";
std::string mark_of(double times);
// Nothing if the text is not a mark; an archive may have any text.
std::optional<double> times_in(std::string_view mark);
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
