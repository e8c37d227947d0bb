// SPDX-License-Identifier: MIT
#include "client/check/revision_words.h"

#include <fmt/format.h>

#include <variant>

namespace stab::client {
namespace {

template <class Visit>
void for_each_revision(const plan::Plan& plan, const Visit& visit) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* fixed = std::get_if<plan::FixedLevels>(&factor.levels))
      for (const plan::Level& level : fixed->levels)
        if (!level.revision.empty()) visit(factor, level);
}

}  // namespace

std::vector<std::string> revision_lines(const plan::Plan& plan) {
  std::vector<std::string> lines;
  for_each_revision(plan, [&](const plan::Factor& factor, const plan::Level& level) {
    lines.push_back(
        fmt::format("{} {}: {}", factor.name, level.name,
                    level.revision == plan::working_tree
                        ? "the working tree, with uncommitted changes, as it is when it is built"
                        : "commit " + level.revision));
  });
  return lines;
}

nlohmann::ordered_json revisions_json(const plan::Plan& plan) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for_each_revision(plan, [&](const plan::Factor& factor, const plan::Level& level) {
    list.push_back({{"factor", factor.name},
                    {"level", level.name},
                    {"commit", level.revision == plan::working_tree
                                   ? nlohmann::ordered_json(nullptr)
                                   : nlohmann::ordered_json(level.revision)}});
  });
  return list;
}

}  // namespace stab::client
