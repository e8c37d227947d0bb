// SPDX-License-Identifier: MIT
#include "machine/quiet/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stabd/client/exit_code.h"
#include "stabd/client/machine/machine_verbs.h"
#include "stabd/client/output.h"

namespace stab::client {
namespace {

std::string as_json(std::span<const machine::Finding> findings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const machine::Finding& finding : findings)
    rows.push_back({{"name", finding.name},
                    {"grade", machine::to_string(finding.grade)},
                    {"found", finding.found},
                    {"meaning", finding.meaning},
                    {"mend", finding.mend}});
  const nlohmann::json all{{"grade", machine::to_string(machine::overall(findings))},
                           {"findings", rows}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string as_text(std::span<const machine::Finding> findings) {
  std::string text = fmt::format("This machine is {} for measurements.\n\n",
                                 machine::to_string(machine::overall(findings)));
  for (const machine::Finding& finding : findings) {
    text += fmt::format("{}  {:<19} {}\n", machine::to_string(finding.grade), finding.name,
                        finding.found);
    if (!finding.meaning.empty()) text += fmt::format("{:26}{}\n", "", finding.meaning);
    if (!finding.mend.empty()) text += fmt::format("{:26}mend: {}\n", "", finding.mend);
  }
  return text;
}

}  // namespace

Result<int> doctor(const MachineOptions& options) {
  const auto topology = machine::Topology::load();
  if (!topology) return std::unexpected(topology.error());
  const auto findings = machine::examine(*topology, options.root);
  if (auto written =
          write_output(options.json ? as_json(findings) : as_text(findings), "", Colours::none);
      !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client
