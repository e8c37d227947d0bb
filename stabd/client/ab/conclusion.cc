// SPDX-License-Identifier: MIT
#include "stabd/client/ab/conclusion.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "base/duration.h"

namespace stab::client {
namespace {

using nlohmann::json;

std::string percent(const json& ratio) {
  return fmt::format("{:+.2g} %", 100 * (ratio.get<double>() - 1));
}

std::string numbers_of(const json& effect) {
  return fmt::format("{} (95 % interval {} to {})", percent(effect["ratio"]),
                     percent(effect["low"]), percent(effect["high"]));
}

std::string what_it_takes(const json& effect, std::chrono::nanoseconds round) {
  if (!effect["needed_units"].is_number() || round.count() <= 0) return "";
  const double blocks = effect["needed_units"].get<double>();
  return fmt::format("; it takes about {:.0f} rounds, {}", blocks,
                     format_duration(std::chrono::nanoseconds(
                         static_cast<std::int64_t>(blocks * static_cast<double>(round.count())))));
}

std::string sentence(const json& effect, double margin, std::chrono::nanoseconds round) {
  const auto level = effect["level"].get<std::string>();
  const auto baseline = effect["baseline"].get<std::string>();
  const auto verdict = effect["verdict"].get<std::string>();
  if (effect["ratio"].is_null())
    return fmt::format("cannot compare {} with {}: {}", level, baseline,
                       effect["reason"].is_string() ? effect["reason"].get<std::string>()
                                                    : "there are too few trials");
  if (verdict == "same")
    return fmt::format("{} is as fast as {}, within {:g} %: {}", level, baseline, 100 * margin,
                       numbers_of(effect));
  if (verdict == "faster" || verdict == "slower")
    return fmt::format("{} is {} than {}: {}", level, verdict, baseline, numbers_of(effect));
  return fmt::format("cannot tell whether {} is faster or slower than {}: {}{}", level, baseline,
                     numbers_of(effect), what_it_takes(effect, round));
}

}  // namespace

Conclusion conclude(const json& report, const std::string& control,
                    std::chrono::nanoseconds round) {
  Conclusion result;
  const double margin = report["analysis"]["equivalence"].get<double>();
  bool compared = false;
  for (const json& effect : report["effects"]) {
    const auto verdict = effect["verdict"].get<std::string>();
    if (!control.empty() && effect["level"] == control) {
      result.control_differs = verdict == "faster" || verdict == "slower";
      continue;
    }
    compared = true;
    result.sentences.push_back(sentence(effect, margin, round));
    result.findings.regressed |= verdict == "slower";
    // A verdict that is none of these is none.
    result.findings.unsure |= verdict != "slower" && verdict != "faster" && verdict != "same";
  }
  if (!compared) result.sentences.emplace_back("nothing was compared");
  const json& trials = report["trials"];
  const auto lost = trials["failed"].get<std::uint64_t>() + trials["skipped"].get<std::uint64_t>();
  if (lost > 0)
    result.sentences.push_back(
        fmt::format("{} of {} trials failed or were skipped, and nothing of this is about those",
                    lost, lost + trials["ok"].get<std::uint64_t>()));
  if (result.control_differs)
    result.sentences.push_back(fmt::format(
        "believe none of it: this machine finds {} different from itself (the control); "
        "'stabctl doctor' says what disturbs it",
        control.substr(0, control.rfind("-again"))));
  result.findings.unsure |= !compared || lost > 0 || result.control_differs;
  return result;
}

std::string as_markdown(const json& report, const Conclusion& conclusion) {
  std::map<std::string, const json*> effects;
  for (const json& effect : report["effects"])
    effects[effect["level"].get<std::string>()] = &effect;
  std::string text =
      "| version | wall time | change | 95 % interval | verdict |\n"
      "|---|---|---|---|---|\n";
  for (const json& mean : report["means"]) {
    const auto version = mean["levels"]["version"].get<std::string>();
    const auto time = mean["mean"].is_number()
                          ? format_duration(std::chrono::nanoseconds(
                                static_cast<std::int64_t>(mean["mean"].get<double>())))
                          : "none";
    const auto found = effects.find(version);
    text += fmt::format("| `{}` | {} |", version, time);
    if (found == effects.end())
      text += " | | |\n";
    else if ((*found->second)["ratio"].is_null())
      text += fmt::format(" | | {} |\n", (*found->second)["verdict"].get<std::string>());
    else
      text += fmt::format(" {} | {} to {} | {} |\n", percent((*found->second)["ratio"]),
                          percent((*found->second)["low"]), percent((*found->second)["high"]),
                          (*found->second)["verdict"].get<std::string>());
  }
  for (const std::string& each : conclusion.sentences) text += "\n- " + each;
  return text + "\n";
}

std::string randomized_parts(const json& report, bool heap) {
  std::string yes = "the environment's size, the addresses of stack, heap and libraries";
  std::string no;
  const auto add = [](std::string& to, const char* what) {
    to += fmt::format("{}{}", to.empty() ? "" : ", ", what);
  };
  const bool moved = report["layouts"]["randomized"].get<std::uint64_t>() > 0;
  add(moved ? yes : no, "the places of functions");
  add(heap ? yes : no, "the places of blocks in the heap");
  std::string text = "Random in each trial: " + yes + ".";
  if (!no.empty()) text += " Not random: " + no + ".";
  if (!moved)
    text +=
        " A program that is built with szc moves its functions; without it a difference may be "
        "that of two lucky layouts.";
  return text;
}

}  // namespace stab::client
