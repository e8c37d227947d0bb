// SPDX-License-Identifier: MIT
// The effects that a fractional design cannot tell apart.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"

namespace stab::report {
namespace {

std::string effect_name(const stats::Spec& spec, std::uint32_t effect) {
  std::string text;
  for (std::size_t i = 0; i < spec.treatments.size(); ++i)
    if ((effect >> i & 1U) != 0) text += (text.empty() ? "" : ":") + spec.treatments[i];
  return text;
}

}  // namespace

std::string aliases_section(const stats::Analysis& analysis, const TextOptions& options) {
  const stats::Spec& spec = analysis.spec;
  if (std::ranges::all_of(spec.chains, [](const auto& chain) { return chain.aliases.empty(); }))
    return "";
  std::string text = heading(
      "Aliases",
      fmt::format(
          "The design runs only {} of {} cells, so it cannot tell the effects in a row apart: what "
          "looks like the first effect may come from the other effects of the row.",
          spec.chains.size() + 1, std::size_t{1} << spec.treatments.size()),
      options);
  for (const stats::AliasChain& chain : spec.chains)
    if (options.full || std::has_single_bit(chain.effect))
      text += paragraph(fmt::format("  {} = ", one_line(effect_name(spec, chain.effect), 60)),
                        one_line(chain.aliases, 500), options.width);
  return text + "\n";
}

}  // namespace stab::report
