// SPDX-License-Identifier: MIT
// Exports all attempts at an experiment's trials as a table, with one row per attempt and one
// column for each factor and each reading. Also writes other tools' formats.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/reader.h"

namespace stab::results {

// Receives the text in pieces, which never split a character. If it fails, the export ends.
using Sink = std::function<Result<void>(std::string_view piece)>;

// If an export fails, discard the text that it has written.
//
// CSV follows RFC 4180 and has a header. An absent reading is an empty cell, never a 0.
Result<void> export_csv(store::Reader& store, const store::Experiment& experiment,
                        const Sink& sink);

// An array of objects that all have the same names; an absent value is null.
Result<void> export_json(store::Reader& store, const store::Experiment& experiment,
                         const Sink& sink);

// The samples of these trials, in CSV or JSON, one row per sample. Absent samples have one row
// without a value.
Result<void> export_samples_csv(store::Reader& store, const store::Experiment& experiment,
                                const Sink& sink);
Result<void> export_samples_json(store::Reader& store, const store::Experiment& experiment,
                                 const Sink& sink);

// The trials for which is_measured() holds, by cell, in hyperfine's JSON. Fails if no such trial
// has a wall time.
Result<void> export_hyperfine(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink);
// The same trials in the format that Go's benchmarks print and benchstat reads.
Result<void> export_benchstat(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink);

using Export = decltype(export_csv);

// The same trials of a causal plan, from the cell with this name, as a profile in coz's format. ""
// means the plan's only cell. The format can't tell cells apart, so with several cells the error
// lists them.
Result<void> export_coz(store::Reader& store, const store::Experiment& experiment,
                        const std::string& cell, const Sink& sink);

struct ExportAsked {
  std::string format{};  // csv, json, samples, samples-json, hyperfine, benchstat or coz
  std::string cell{};    // for coz only
};
// Fails if there is no such format, or if a cell is named and the format does not take one.
Result<void> check_export(const ExportAsked& asked);
Result<void> write_export(store::Reader& store, const store::Experiment& experiment,
                          const ExportAsked& asked, const Sink& sink);

}  // namespace stab::results
