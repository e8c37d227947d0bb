// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "client/exit_code.h"
#include "client/machine.h"
#include "client/output.h"
#include "counters/events/counting.h"
#include "counters/events/event.h"
#include "machine/containment.h"

namespace stab::client {
namespace {

using counters::Listed;

constexpr unsigned most_at_once = 16;
constexpr std::size_t width = 100;
constexpr std::string_view kernels_own = "perf";  // libpfm's source of the kernel's generic events
constexpr std::string_view canonical = "PERF_COUNT_";

// How stabd would treat an event in a plan of this user.
enum class Fate { counted, only_user, absent, needs_attribute };

constexpr std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::counted:
      return "counted";
    case Fate::only_user:
      return "only-with-u";
    case Fate::absent:
      return "absent";
    case Fate::needs_attribute:
      return "needs-attribute";
  }
  return "absent";
}

struct Tried {
  Listed event;
  Fate fate = Fate::absent;
  std::string reason;  // "" if the event is counted
};

// Why an event of this name cannot be counted; "" if it can.
Result<std::string> refusal(const std::string& name) {
  const auto event = counters::find_event(name);
  if (!event) return std::unexpected(event.error());
  const auto open = counters::open_event(*event, 0);
  return open ? "" : open.error();
}

Tried try_out(Listed event) {
  const auto why = refusal(event.name);
  if (!why && event.attributes.empty())
    return {std::move(event), Fate::absent, why.error().message};
  if (!why)
    return {std::move(event), Fate::needs_attribute,
            "the name needs an attribute, as in NAME:ATTRIBUTE"};
  if (why->empty()) return {std::move(event), Fate::counted, ""};
  const auto user = refusal(counters::Event{.name = event.name}.on_program_side());
  return {std::move(event), user && user->empty() ? Fate::only_user : Fate::absent, *why};
}

bool matches(const std::string& name, const std::string& pattern) {
  const bool glob = pattern.find_first_of("*?[") != std::string::npos;
  return fnmatch((glob ? pattern : "*" + pattern + "*").c_str(), name.c_str(), FNM_CASEFOLD) == 0;
}

struct Hardware {
  std::optional<unsigned> at_once;
  std::string why_none;
};

Hardware hardware() {
  const auto event = counters::find_event("branches:u");
  if (!event) return {.at_once = {}, .why_none = event.error().message};
  const auto number = counters::counted_at_once(*event, most_at_once);
  if (number) return {.at_once = *number, .why_none = ""};
  return {.at_once = {}, .why_none = number.error()};
}

std::string as_json(const Hardware& hardware, const std::vector<Tried>& events) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Tried& tried : events)
    rows.push_back({{"name", tried.event.name},
                    {"same_as", tried.event.same_as},
                    {"meaning", tried.event.meaning},
                    {"source", tried.event.source},
                    {"attributes", tried.event.attributes},
                    {"status", to_string(tried.fate)},
                    {"reason", tried.reason}});
  nlohmann::json all{
      {"hardware_at_once", nullptr}, {"why_none", hardware.why_none}, {"events", rows}};
  if (hardware.at_once) all["hardware_at_once"] = *hardware.at_once;
  return json_text(all, 2) + "\n";
}

// Puts the names into wrapped lines.
std::string paragraph(const std::vector<std::string>& names) {
  std::string text;
  std::string line = " ";
  for (const std::string& name : names) {
    if (line.size() + name.size() + 2 > width) {
      text += line + "\n";
      line = " ";
    }
    line += " " + name;
  }
  return text + line + "\n";
}

// A short list of the events that can be counted, and of the others by reason.
std::string overview(const std::vector<Tried>& events) {
  std::vector<std::string> counted;
  std::map<std::string, std::vector<std::string>> others;
  std::map<std::string, std::size_t> of_cpu;
  std::map<std::string, std::size_t> of_device;
  std::size_t tracepoints = 0;
  for (const Tried& tried : events) {
    const std::string& name = tried.event.name;
    if (tried.event.source == counters::tracepoint_source) {
      ++tracepoints;
    } else if (counters::is_of_device(name)) {
      ++of_device[tried.event.source];
    } else if (tried.event.source != kernels_own) {
      if (!name.contains(':') || name.contains("::")) ++of_cpu[tried.event.source];
    } else if (name.starts_with(canonical)) {
      continue;  // another name of a generic event
    } else if (tried.fate == Fate::counted) {
      counted.push_back(name);
    } else if (tried.fate == Fate::only_user) {
      counted.push_back(counters::Event{.name = name}.on_program_side());
    } else {
      others[tried.reason].push_back(name);
    }
  }
  std::string text;
  if (!counted.empty()) text += "Each trial can count:\n" + paragraph(counted) + "\n";
  for (const auto& [reason, names] : others)
    text += fmt::format("Cannot be counted here: {}:\n{}\n", reason, paragraph(names));
  for (const auto& [source, number] : of_cpu)
    text += fmt::format("This CPU has {} events of its own; to list them: stabctl counters {}\n",
                        number, source);
  for (const auto& [source, number] : of_device)
    text +=
        fmt::format("The kernel's device {1} has {0} events; to list them: stabctl counters {1}/\n",
                    number, source, source);
  if (tracepoints > 0)
    text +=
        fmt::format("There are {} tracepoints; to list some of them: stabctl counters 'sched:*'\n",
                    tracepoints);
  text +=
      "An event with ':u' is counted only in the program, and an event with ':k' only in the "
      "kernel on the program's behalf.\n";
  return text;
}

std::string in_full(const std::vector<Tried>& events) {
  std::string text;
  for (const Tried& tried : events) {
    text += tried.event.name;
    if (!tried.event.same_as.empty())
      text += fmt::format("  (another name of {})", tried.event.same_as);
    text += "\n";
    if (!tried.event.meaning.empty()) text += fmt::format("    {}\n", tried.event.meaning);
    if (!tried.event.attributes.empty())
      text += fmt::format("    attributes: {}\n", fmt::join(tried.event.attributes, ", "));
    text +=
        tried.fate == Fate::counted ? "    counted\n"
        : tried.fate == Fate::only_user
            ? fmt::format("    counted as {} only: {}\n",
                          counters::Event{.name = tried.event.name}.on_program_side(), tried.reason)
        : tried.fate == Fate::needs_attribute ? fmt::format("    {}\n", tried.reason)
                                              : fmt::format("    absent: {}\n", tried.reason);
  }
  return text;
}

}  // namespace

Result<int> counters(const CounterOptions& options) {
  // Trials have no capabilities, not even root's trials by default, so events are tried without
  // them.
  if (!machine::give_up_privileges()) return fail_errno("cannot give up root's rights");
  std::vector<Tried> events;
  std::vector<std::string> names;
  for (Listed& listed : counters::list_events()) {
    names.push_back(listed.name);
    if (matches(listed.name, options.pattern)) events.push_back(try_out(std::move(listed)));
  }
  if (events.empty()) {
    const std::string near = nearest(options.pattern, names);
    return fail(fmt::format("no event's name contains '{}'{}; 'stabctl counters' lists all events",
                            one_line(options.pattern, 80),
                            near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
  }
  const Hardware found = hardware();
  std::string text;
  if (options.json) {
    text = as_json(found, events);
  } else if (!options.pattern.empty()) {
    text = in_full(events);
  } else {
    text = found.at_once ? fmt::format(
                               "This CPU has {}{} counters. If you measure more events, they take "
                               "turns, and their counts are scaled.\n\n",
                               *found.at_once, *found.at_once == most_at_once ? " or more" : "")
                         : fmt::format("This CPU has no counters: {}.\n\n", found.why_none);
    text += overview(events);
  }
  if (auto written = write_output(text, "", Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client
