// SPDX-License-Identifier: MIT

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "client/exit_code.h"
#include "client/streams.h"
#include "client/verbs.h"
#include "cluster/settings.h"
#include "counters/events/counting.h"
#include "counters/events/event.h"
#include "machine/containment.h"
#include "machine/program.h"
#include "machine/quiet/doctor.h"
#include "machine/quiet/quiet.h"
#include "protocol/paths.h"

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

std::string as_text(machine::Grade grade, std::span<const machine::Finding> findings,
                    std::string_view what) {
  std::string text =
      fmt::format("This {} is {} for measurements.\n\n", what, machine::to_string(grade));
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
        "functions, stack frames and heap blocks of the program are in the same places in every "
        "trial; stabd refuses plans that ask for a random layout";
    finding.mend =
        "build the program with szc, without -static, -static-pie or BOLT; or use link_order and "
        "link_padding";
  } else if (!machine::has_szc_note(*file)) {
    finding.found = fmt::format("{}: szc did not build the program", program);
    finding.meaning =
        "functions and stack frames of the program are in the same places in every trial";
    finding.mend = "build it with CC=szc CXX=szc++";
  } else if (const std::string fault = machine::why_note_fails(*file); !fault.empty()) {
    finding.found = fmt::format("{}: {}", program, fault);
    finding.meaning =
        "functions and stack frames of the program are in the same places in every trial";
    finding.mend =
        "build the program again, and let szc make such changes when it links, for example with "
        "-Wl,-rpath";
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
  const auto show = [&](machine::Grade grade, std::span<const machine::Finding> findings,
                        std::string_view what) -> Result<int> {
    auto written =
        write_output(options.json ? as_json(grade, findings) : as_text(grade, findings, what), "",
                     Colours::none);
    if (!written) return std::unexpected(written.error());
    return exit_ok;
  };
  if (options.machines) {
    const auto found = cluster::examine_cluster();
    if (!found) return std::unexpected(found.error());
    return show(machine::overall(*found), *found, "cluster");
  }
  const auto topology = machine::Topology::load();
  if (!topology) return std::unexpected(topology.error());
  auto findings = machine::examine(*topology, options.root);
  const machine::Grade grade = machine::overall(findings);
  for (const std::string& program : options.programs) {
    auto found = look_at(program);
    if (!found) return std::unexpected(found.error());
    findings.push_back(*std::move(found));
  }
  return show(grade, findings, "machine");
}

Result<int> compilers(const CompilerOptions& options) {
  if (options.added && options.added->empty())
    return fail("give the path of a clang, for example: stabctl compiler add /path/to/clang");
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = self.parent_path() / "szc";
  const std::string szc = !error && access(beside.c_str(), X_OK) == 0 ? beside : "szc";
  const std::string command =
      shell_quote(szc) + " " +
      (options.added ? "--stab-add-compiler " + shell_quote(*options.added) : "--stab-compilers") +
      (options.json ? " --json" : "");
  FILE* output = popen(command.c_str(), "re");
  if (output == nullptr) return fail_errno("cannot start szc");
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), output)) > 0;)
    text.append(buffer.data(), got);
  const int status = pclose(output);
  constexpr int not_found = 127;
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found)
    return fail("there is no szc beside stabctl or in PATH: install the package 'szc'");
  fmt::print("{}", text);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

namespace {

using machine::Outcome;

// All daemons share the machine's knobs, so there is one folder of logs for the machine.
std::string folder_of_logs(const MachineOptions& options) {
  return options.root + default_state_directory();
}

std::string log_of(const MachineOptions& options) {
  if (!options.log.empty()) return options.log;
  return machine::log_by_hand(folder_of_logs(options));
}

// Puts back what an experiment of a killed daemon changed. A call with its own log does not touch
// experiments.
Result<std::vector<Outcome>> recovered(const MachineOptions& options) {
  if (!options.log.empty()) return {};
  return machine::recover(folder_of_logs(options), options.root);
}

Result<machine::CpuChoice> cpus_of(const MachineOptions& options) {
  const auto topology = machine::Topology::load();
  if (!topology) return std::unexpected(topology.error());
  return topology->choose_cpus(options.trial_cpus);
}

std::string as_json(std::span<const Outcome> outcomes) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Outcome& outcome : outcomes)
    rows.push_back({{"knob", outcome.knob},
                    {"file", outcome.file},
                    {"outcome", machine::to_string(outcome.what)},
                    {"found", outcome.found},
                    {"value", outcome.value},
                    {"reason", outcome.reason}});
  return json_text(rows, 2) + "\n";
}

// One line for each file, except that files which are already quiet share one line per knob.
std::string as_text(std::span<const Outcome> outcomes) {
  std::string text;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    std::string line = fmt::format("{:<9} {:<18} ", machine::to_string(outcome.what), outcome.knob);
    if (outcome.what == Outcome::What::quiet) {
      std::size_t count = 1;
      for (; i + 1 < outcomes.size() && outcomes[i + 1].what == outcome.what &&
             outcomes[i + 1].knob == outcome.knob;
           ++i)
        ++count;
      line += count == 1 ? outcome.file : fmt::format("{} and {} more", outcome.file, count - 1);
    } else {
      line += outcome.file;
    }
    if (outcome.found != outcome.value)
      line += fmt::format(": {} -> {}", outcome.found, outcome.value);
    else if (!outcome.found.empty())
      line += ": " + outcome.found;
    if (!outcome.reason.empty()) line += (outcome.file.empty() ? "" : "; ") + outcome.reason;
    text += line + "\n";
  }
  return text;
}

Result<int> show(const MachineOptions& options, std::span<const Outcome> outcomes, int code) {
  const std::string text = options.json ? as_json(outcomes) : as_text(outcomes);
  if (auto written = write_output(text, "", Colours::none); !written)
    return std::unexpected(written.error());
  return code;
}

bool any(std::span<const Outcome> outcomes, Outcome::What what) {
  return std::ranges::find(outcomes, what, &Outcome::what) != outcomes.end();
}

nlohmann::json as_row(const machine::Knob& knob, const machine::Setting& setting,
                      const std::string& state) {
  return {{"knob", knob.name},      {"file", setting.file},   {"state", state},
          {"value", setting.found}, {"quiet", setting.quiet}, {"needs", knob.needs},
          {"effect", knob.effect},  {"reason", setting.error}};
}

}  // namespace

Result<int> quiesce_status(const MachineOptions& options) {
  const auto chosen = machine::choose_knobs(options.knobs);
  if (!chosen) return std::unexpected(chosen.error());
  const auto cpus = cpus_of(options);
  if (!cpus) return std::unexpected(cpus.error());
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  for (const machine::Knob* knob : *chosen) {
    const auto settings = machine::read_knob(*knob, *cpus, options.root);
    if (settings.empty()) {
      text += fmt::format("absent    {}\n", knob->name);
      machine::Setting none;
      none.error = "this machine has no such setting";
      rows.push_back(as_row(*knob, none, "absent"));
    }
    for (const machine::Setting& setting : settings) {
      const std::string state = !setting.error.empty() ? "unknown"
                                : setting.is_quiet()   ? "quiet"
                                                       : "loud";
      rows.push_back(as_row(*knob, setting, state));
      text += fmt::format(
          "{:<9} {:<18} {}: {}{}\n", state, knob->name, setting.file, setting.found,
          state == "loud" ? fmt::format(" (the quiet value is {})", setting.quiet) : setting.error);
    }
    // A quiet knob needs nothing more.
    if (settings.empty() || !std::ranges::all_of(settings, &machine::Setting::is_quiet))
      text += fmt::format("{:29}needs {}\n", "", knob->needs);
  }
  const std::string shown = options.json ? json_text(rows, 2) + "\n" : text;
  if (auto written = write_output(shown, "", Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

Result<int> quiesce_apply(const MachineOptions& options) {
  const auto chosen = machine::choose_knobs(options.knobs);
  if (!chosen) return std::unexpected(chosen.error());
  for (const machine::Knob* knob : *chosen)
    if (machine::is_for_experiments(*knob))
      return fail(fmt::format(
          "{0} can be changed only during an experiment{1}. In the plan, set machine.quiesce = "
          "\"best-effort\", and list {0} in machine.knobs with all other knobs that you want",
          knob->name, knob->moves_processes ? ", because it would also confine the daemon" : ""));
  const auto cpus = cpus_of(options);
  if (!cpus) return std::unexpected(cpus.error());
  auto log = machine::UndoLog::open(log_of(options), options.root);
  if (!log) return std::unexpected(log.error());
  // First undo what a killed daemon changed, or this call would record those values as the ones to
  // restore.
  if (auto left = recovered(options); !left) return std::unexpected(left.error());
  const machine::UndoLog::Mark before = log->mark();
  const auto outcomes = machine::quiesce(*log, *chosen, *cpus, options.root);
  if (outcomes && (!options.strict || !any(*outcomes, Outcome::What::refused)))
    return show(options, *outcomes, exit_ok);
  // Undo the changes of this call.
  const auto back = machine::restore(*log, options.root, before);
  if (!outcomes) return std::unexpected(outcomes.error());
  if (!back) return std::unexpected(back.error());
  (void)show(options, *outcomes, exit_error);
  if (any(*back, Outcome::What::refused))
    return fail(
        "--strict: some settings cannot be changed, and some changed settings could not be put "
        "back: try 'stabctl quiet restore'");
  return fail("--strict: some settings cannot be changed, so all settings are as they were before");
}

Result<int> quiesce_restore(const MachineOptions& options) {
  // Undo an experiment's changes first, because it made them on top of the changes made by hand.
  auto outcomes = recovered(options);
  if (!outcomes) return std::unexpected(outcomes.error());
  auto log = machine::UndoLog::open(log_of(options), options.root);
  if (!log) return std::unexpected(log.error());
  const auto by_hand = machine::restore(*log, options.root);
  if (!by_hand) return std::unexpected(by_hand.error());
  outcomes->insert(outcomes->end(), by_hand->begin(), by_hand->end());
  if (outcomes->empty() && !options.json) {
    fmt::print("there is nothing to put back\n");
    return exit_ok;
  }
  return show(options, *outcomes, any(*outcomes, Outcome::What::refused) ? exit_error : exit_ok);
}

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
            "the name needs an attribute (NAME:ATTRIBUTE)"};
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
      "An event with ':u' is counted only while the program's own code runs; an event with ':k' is "
      "counted only while the kernel works for the program.\n";
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
