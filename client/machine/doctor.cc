// SPDX-License-Identifier: MIT
#include "machine/quiet/doctor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "client/exit_code.h"
#include "client/machine/machine_verbs.h"
#include "client/output.h"
#include "machine/program.h"

namespace stab::client {
namespace {

// `grade`: the machine's grade, which does not depend on the programs.
std::string as_json(machine::Grade grade, std::span<const machine::Finding> findings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const machine::Finding& finding : findings)
    rows.push_back({{"name", finding.name},
                    {"grade", machine::to_string(finding.grade)},
                    {"found", finding.found},
                    {"meaning", finding.meaning},
                    {"mend", finding.mend}});
  const nlohmann::json all{{"grade", machine::to_string(grade)}, {"findings", rows}};
  return json_text(all, 2) + "\n";
}

std::string as_text(machine::Grade grade, std::span<const machine::Finding> findings) {
  std::string text =
      fmt::format("This machine is {} for measurements.\n\n", machine::to_string(grade));
  for (const machine::Finding& finding : findings) {
    text += fmt::format("{}  {:<19} {}\n", machine::to_string(finding.grade), finding.name,
                        finding.found);
    if (!finding.meaning.empty()) text += fmt::format("{:26}{}\n", "", finding.meaning);
    if (!finding.mend.empty()) text += fmt::format("{:26}mend: {}\n", "", finding.mend);
  }
  return text;
}

// Finds out which parts of this program's layout can be random.
Result<machine::Finding> look_at(const std::string& program) {
  const char* path = std::getenv("PATH");
  const auto file = machine::find_program(
      program, {fmt::format("PATH={}", path == nullptr ? "/usr/bin:/bin" : path)}, ".");
  if (!file) return std::unexpected(file.error());
  machine::Finding finding{
      .name = "program", .grade = machine::Grade::fair, .found = {}, .meaning = {}, .mend = {}};
  if (const std::string why = machine::why_in_place(*file); !why.empty()) {
    finding.found = fmt::format("{}: {}", program, why);
    finding.meaning =
        "its functions, stack frames and heap blocks are in the same places in every trial; stabd "
        "refuses plans that ask for a random layout";
    finding.mend =
        "build it with szc, without -static, -static-pie or BOLT; or use link_order and "
        "link_padding";
  } else if (!machine::has_szc_note(*file)) {
    finding.found = fmt::format("{}: szc did not build the program", program);
    finding.meaning = "its functions and stack frames are in the same places in every trial";
    finding.mend = "build it with CC=szc CXX=szc++";
  } else {
    finding.grade = machine::Grade::good;
    finding.found = fmt::format(
        "{}: szc built the program; 'szc --stab-explain' lists the functions that stay in place",
        program);
  }
  return finding;
}

}  // namespace

Result<int> doctor(const MachineOptions& options) {
  const auto topology = machine::Topology::load();
  if (!topology) return std::unexpected(topology.error());
  auto findings = machine::examine(*topology, options.root);
  const machine::Grade grade = machine::overall(findings);
  for (const std::string& program : options.programs) {
    auto found = look_at(program);
    if (!found) return std::unexpected(found.error());
    findings.push_back(*std::move(found));
  }
  if (auto written = write_output(
          options.json ? as_json(grade, findings) : as_text(grade, findings), "", Colours::none);
      !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client
