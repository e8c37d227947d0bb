// SPDX-License-Identifier: MIT
#include "report/json_loads.h"

#include <nlohmann/json.hpp>

#include "report/json_analysis.h"
#include "report/sections/causal.h"

namespace stab::report {
using nlohmann::ordered_json;
using stats::causal::AtLoad;
using stats::causal::Change;
using stats::causal::Loads;
using stats::causal::Profile;

ordered_json asked_json(const stats::causal::Load& load) {
  return load.asked > 0 ? ordered_json(load.asked) : ordered_json();
}

ordered_json loads_json(const Profile& profile, const Loads& loads) {
  ordered_json made{{"loads", ordered_json::array()}};
  for (const AtLoad& at : loads.loads) made["loads"].push_back(row_json(load_row(profile, at)));
  if (profile.loads.size() < 2) return made;
  made["changes"] = ordered_json::array();
  for (const Change& each : loads.changes)
    made["changes"].push_back(row_json(change_row(profile, each)));
  return made;
}

}  // namespace stab::report
