// SPDX-License-Identifier: MIT
// Finds the function for each export format by the format's name in the protocol.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "results/exports/export.h"

namespace stab::results {
namespace {

Export* find_export(std::string_view format) {
  static constexpr std::array<std::pair<std::string_view, Export*>, 6> exports{
      {{"csv", export_csv},
       {"json", export_json},
       {"samples", export_samples_csv},
       {"samples-json", export_samples_json},
       {"hyperfine", export_hyperfine},
       {"benchstat", export_benchstat}}};
  const auto found =
      std::ranges::find(exports, format, [](const auto& each) { return each.first; });
  return found == exports.end() ? nullptr : found->second;
}

}  // namespace

Result<void> check_export(const ExportAsked& asked) {
  if (asked.format == "coz") return {};
  if (find_export(asked.format) == nullptr)
    return fail(
        fmt::format("there is no export format '{}': the formats are csv, json, samples, "
                    "samples-json, hyperfine, benchstat, coz and archive",
                    one_line(asked.format, 50)));
  if (!asked.cell.empty())
    return fail("--cell works only with --format coz: leave out --cell, or --json");
  return {};
}

Result<void> write_export(store::Reader& store, const store::Experiment& experiment,
                          const ExportAsked& asked, const Sink& sink) {
  if (auto known = check_export(asked); !known) return known;
  if (asked.format == "coz") return export_coz(store, experiment, asked.cell, sink);
  return find_export(asked.format)(store, experiment, sink);
}

}  // namespace stab::results
