// SPDX-License-Identifier: MIT
// The profiles of a causal plan, as 'stabctl causal' shows them.
#include "report/words/causal.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "report/words/loads.h"

namespace stab::report {

std::string causal_section(const Document& document, const TextOptions& options) {
  std::string text;
  if (!document.causal) return text;
  for (const CausalCell& cell : *document.causal) {
    text +=
        styled("Causal profile of " + one_line(cell.name, longest), Style::bold, options.colour) +
        "\n";
    text += cell.analysis ? causal_text(cell.profile, *cell.analysis, document.analysis.spec.alpha)
                          : paragraph("  ", one_line(cell.reason, longest), options.width);
    text += "\n";
  }
  for (const CausalLoads& each : document.causal_loads) {
    text +=
        styled("Load against " + one_line(each.name, longest), Style::bold, options.colour) + "\n";
    text += each.loads ? loads_text(each.profile, *each.loads)
                       : paragraph("  ", one_line(each.reason, longest), options.width);
    text += "\n";
  }
  return text;
}

}  // namespace stab::report
