// SPDX-License-Identifier: MIT
#include "report/json_studies.h"

#include <nlohmann/json.hpp>

#include "report/json_analysis.h"
#include "report/or_null.h"
#include "report/sections/sections.h"

namespace stab::report {
namespace {
using Json = nlohmann::ordered_json;
}  // namespace

nlohmann::ordered_json calibration_json(const stats::Analysis& analysis) {
  if (!analysis.calibration) return nullptr;
  const auto floor_of = [&](const stats::Floor& floor) {
    return row_json(floor_row(analysis.spec, "", floor));
  };
  Json benchmarks = Json::array();
  for (const stats::Floor& floor : analysis.calibration->benchmarks)
    benchmarks.push_back(floor_of(floor));
  return {{"blocks", analysis.calibration->blocks},
          {"benchmarks", benchmarks},
          {"any", floor_of(analysis.calibration->any)},
          {"suite", floor_of(analysis.calibration->suite)}};
}

nlohmann::ordered_json noise_json(const std::optional<NoiseFloor>& noise) {
  if (!noise) return nullptr;
  return {{"noise_floor", noise->margin},
          {"low", or_null(noise->low)},
          {"high", or_null(noise->high)},
          {"alpha", noise->alpha},
          {"blocks", noise->blocks},
          {"benchmarks", noise->benchmarks},
          {"comparisons", noise->comparisons},
          {"significant", noise->significant},
          {"calibration", noise->calibration},
          {"calibrated_ns", noise->at_ns},
          {"calibrated_by", or_null(noise->by_user)}};
}

nlohmann::ordered_json padding_json(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::PaddingSeeds& study : analysis.padding) {
    Json seeds = Json::array();
    for (std::size_t i = 0; i < study.seeds.size(); ++i)
      seeds.push_back({{"seed", study.seeds[i]}, {"percent", or_null(study.percent[i])}});
    list.push_back({{"benchmark", or_null(study.subject)},
                    {"treatment", study.treatment},
                    {"baseline", study.baseline},
                    {"level", study.level},
                    {"factor", analysis.spec.seed},
                    {"seeds", std::move(seeds)}});
  }
  return list;
}

}  // namespace stab::report
