// SPDX-License-Identifier: MIT
#include "stabd/wire/calibration.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stab::wire {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::optional<double> optional_number(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

ordered_json to_json(const store::Calibration& each) {
  return {{"name", each.name},
          {"at_ns", each.at_ns},
          {"scope", store::to_string(each.scope)},
          {"benchmark", each.benchmark},
          {"response", each.response},
          {"alpha", each.alpha},
          {"blocks", each.blocks},
          {"benchmarks", each.benchmarks},
          {"comparisons", each.comparisons},
          {"significant", each.significant},
          {"margin", or_null(each.margin)},
          {"margin_low", or_null(each.margin_low)},
          {"margin_high", or_null(each.margin_high)}};
}

store::Calibration read(const json& object) {
  const auto scope = store::calibration_scope(object.at("scope").get<std::string>());
  if (!scope) throw std::runtime_error("the scope is unknown");
  return {.name = object.at("name").get<std::string>(),
          .at_ns = object.at("at_ns").get<std::int64_t>(),
          .scope = *scope,
          .benchmark = object.at("benchmark").get<std::string>(),
          .response = object.at("response").get<std::string>(),
          .alpha = object.at("alpha").get<double>(),
          .blocks = object.at("blocks").get<std::int64_t>(),
          .benchmarks = object.at("benchmarks").get<std::int64_t>(),
          .comparisons = object.at("comparisons").get<std::int64_t>(),
          .significant = object.at("significant").get<std::int64_t>(),
          .margin = optional_number(object, "margin"),
          .margin_low = optional_number(object, "margin_low"),
          .margin_high = optional_number(object, "margin_high")};
}

}  // namespace

ordered_json to_json(const std::vector<KnownMachine>& machines) {
  ordered_json array = ordered_json::array();
  for (const KnownMachine& known : machines) {
    ordered_json calibrations = ordered_json::array();
    for (const store::Calibration& each : known.calibrations) calibrations.push_back(to_json(each));
    array.push_back({{"key", known.machine.key},
                     {"host", known.machine.host},
                     {"facts", known.machine.facts},
                     {"calibrations", std::move(calibrations)}});
  }
  return array;
}

Result<std::vector<KnownMachine>> read_machines(const json& array) {
  try {
    std::vector<KnownMachine> machines;
    for (const json& object : array) {
      KnownMachine known{.machine = {.key = object.at("key").get<std::string>(),
                                     .host = object.at("host").get<std::string>(),
                                     .facts = object.at("facts").get<std::string>()}};
      for (const json& each : object.at("calibrations")) known.calibrations.push_back(read(each));
      machines.push_back(std::move(known));
    }
    return machines;
  } catch (const std::exception& error) {
    return fail(fmt::format("not a list of calibrations: {}", one_line(error.what(), 200)));
  }
}

}  // namespace stab::wire
