// SPDX-License-Identifier: MIT
// Writes an experiment in the text format of Go's benchmarks, which benchstat reads: one line for
// each trial, or for each benchmark that a trial measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "results/exports/export.h"
#include "results/exports/measured.h"
#include "results/trials.h"

namespace stab::results {
namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

// Makes one word of the text; different texts give different words.
std::string escaped(std::string_view text, std::string_view also) {
  std::string word;
  for (const char c : text)
    if (c <= ' ' || c > '~' || c == '%' || also.contains(c))
      word += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      word += c;
  return word;
}

// Go's benchmark names have a capital letter after "Benchmark".
std::string capital(const std::string& name, const plan::Plan& plan) {
  if (name.empty() || !is_lower(name.front())) return name;
  std::string changed = name;
  changed.front() = static_cast<char>(changed.front() - 'a' + 'A');
  const std::string_view benchmark = std::string_view(changed).substr(0, changed.find('/'));
  const auto is_other = [&](const plan::Benchmark& each) { return each.name == benchmark; };
  return std::ranges::any_of(plan.benchmarks, is_other) ? "_" + name : changed;
}

// benchstat would read a number after the last hyphen as a count of CPUs.
bool ends_as_cpus(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  return digits != std::string::npos && digits + 1 < name.size() && name[digits] == '-';
}

std::string line_name(const plan::Plan& plan, const store::Trial& trial,
                      const std::string& subject) {
  std::string name = "Benchmark" + escaped(capital(subject, plan), "");
  for (const auto& [factor, level] : treatments_of(plan, trial))
    name += fmt::format("/{}={}", escaped(factor, "/"), escaped(level, "/"));
  return ends_as_cpus(name) ? name + "-1" : name;
}

std::string number_text(const counters::Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

// Times and memory of the whole trial, by their units in the output.
constexpr std::array times{std::pair{"ns/op", &store::Trial::wall_ns},
                           std::pair{"user-ns/op", &store::Trial::user_ns},
                           std::pair{"sys-ns/op", &store::Trial::system_ns},
                           std::pair{"peak-RSS-bytes", &store::Trial::max_rss_bytes}};
constexpr std::array<std::string_view, 5> own_responses{"wall", "user", "system", "cpu", "max_rss"};

bool is_own(const std::string& response) {
  return std::ranges::find(own_responses, response) != own_responses.end();
}

// "" if the trial has no number.
std::string metrics_of(const store::Trial& trial, const SubjectNumber& number,
                       const std::string& response) {
  std::string text;
  if (number.subject == trial.benchmark)
    for (const auto& [unit, member] : times)
      if (const auto& value = trial.*member) text += fmt::format(" {} {}", *value, unit);
  if (number.value && !is_own(response))
    text += fmt::format(" {} {}", number_text(*number.value), escaped(response, ""));
  return text;
}

std::string header(const store::Experiment& experiment, const plan::Plan& plan) {
  std::string text = fmt::format("goos: linux\ngoarch: amd64\npkg: {}\n",
                                 escaped(one_line(experiment.name, 200), ""));
  if (plan.analysis.higher_is_better)
    text += fmt::format("Unit {} better=higher\n", escaped(plan.analysis.response, ""));
  return text;
}

}  // namespace

Result<void> export_benchstat(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  const std::string& response = plan->analysis.response;
  Result<void> sunk = sink(header(experiment, *plan));
  if (!sunk) return sunk;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial)) return true;
    for (const SubjectNumber& each : numbers_of(trial, *plan, response)) {
      const std::string metrics = metrics_of(trial, each, response);
      if (metrics.empty()) continue;
      sunk = sink(line_name(*plan, trial, each.subject) + " 1" + metrics + "\n");
      if (!sunk) return false;
    }
    return true;
  });
  if (!read) return fail(read.error().message);
  return sunk;
}

}  // namespace stab::results
