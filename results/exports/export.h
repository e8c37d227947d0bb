// SPDX-License-Identifier: MIT
// All attempts at an experiment's trials as a table: one row each, one column a factor and a
// reading.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/reader.h"

namespace stab::results {

// Gets the text in pieces that end between characters. Its failure ends the export.
using Sink = std::function<Result<void>(std::string_view piece)>;

// What was written before a failure is no export.
//
// RFC 4180 with a header. A reading that is absent is an empty cell, never a 0.
Result<void> export_csv(store::Reader& store, const store::Experiment& experiment,
                        const Sink& sink);

// An array of objects with the same names; what is absent is null.
Result<void> export_json(store::Reader& store, const store::Experiment& experiment,
                         const Sink& sink);

// The same of the samples of these trials, one row each. Those that are absent have one row without
// a value.
Result<void> export_samples_csv(store::Reader& store, const store::Experiment& experiment,
                                const Sink& sink);
Result<void> export_samples_json(store::Reader& store, const store::Experiment& experiment,
                                 const Sink& sink);

// Measured trials that are ok, by cell, as the JSON of hyperfine; fails if none has a wall time.
Result<void> export_hyperfine(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink);
// These trials, a line each, as benchmarks of Go print them and benchstat reads them.
Result<void> export_benchstat(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink);

using Export = decltype(export_csv);

// The runs of a causal plan's cell of this name, or of its only one for "", from these trials, as coz
// writes profiles. The format cannot tell several cells apart: an error names those that there are.
Result<void> export_coz(store::Reader& store, const store::Experiment& experiment,
                        const std::string& cell, const Sink& sink);

struct ExportAsked {
  std::string format{};  // csv, json, samples, samples-json, hyperfine, benchstat or coz
  std::string cell{};    // of coz
};
// Whether there is such a format, and takes a cell if one is named.
Result<void> check_export(const ExportAsked& asked);
Result<void> write_export(store::Reader& store, const store::Experiment& experiment,
                          const ExportAsked& asked, const Sink& sink);

}  // namespace stab::results
