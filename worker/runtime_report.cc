// SPDX-License-Identifier: MIT
#include "worker/runtime_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.h"
#include "design/resolve.h"
#include "plan/measures/names.h"
#include "plan/options.h"

namespace stab::worker {
namespace {

using nlohmann::json;
using store::Layout;
using Count = std::optional<std::int64_t>;

constexpr std::size_t max_note = 500;

// The report of one process, from its start line on.
struct Process {
  int pid = 0;
  json start;
  RuntimeReport report;
  bool asked_for_sandbox = false;  // since then, no exit line
};

Count number_at(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  return std::in_range<std::int64_t>(number) ? Count(static_cast<std::int64_t>(number))
                                             : std::nullopt;
}

std::string text_at(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

// The runtime's numbers never add up to more than 64 bits. If the numbers of a damaged report do,
// the sum is the largest number.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

void add(Count& sum, Count more) {
  if (more) sum = sum_of(sum.value_or(0), *more);
}

void add_notes(std::string& note, const std::string& more) {
  if (more.empty() || note.contains(more) || note.size() > max_note) return;
  note += (note.empty() ? "" : "; ") + one_line(more, max_note);
}

// Readers take notes apart at "; " (results/sums.cc), so one note never contains these characters.
void add_note(std::string& note, std::string_view more) {
  std::string one = one_line(more, max_note);
  for (std::size_t at = 0; (at = one.find("; ", at)) != std::string::npos;) one[at] = ',';
  add_notes(note, one);
}

void add_own_note(std::string& note, std::string_view more) {
  add_note(note, fmt::format("{}{}", store::own_part, more));
}

// A field that the runtime writes only if something limits the layout, and the note about it.
struct Limit {
  const char* field;
  const char* note;  // {}: the field's value
};
constexpr std::array limits = {
    Limit{"why_no_pads", "{}"},  // first: results/sums.cc looks for it there
    Limit{"heap_why", "{}"},
    Limit{"why_once", "functions move only at start: {}"},
    Limit{"go_functions", "{} functions stay in place, because they are Go code"},
    Limit{"used_bytes_functions",
          "{} functions stay in place, because the program uses their bytes or address ranges"},
    Limit{"foreign_exception_functions",
          "{} functions stay in place, because a language's own code reads their exception tables"},
    Limit{"pads_small_for", "the pads of stack frames are at most 112 bytes, because of {}"},
    Limit{"small_stack", "stacks were not enlarged for pads: {}"},
    Limit{"small_thread_stacks", "the stacks of {} threads were not enlarged for pads"},
    Limit{"threads_without_alarm",
          "some threads had no alarm, so their functions moved late (threads_without_alarm)"},
};

void add_limits(const json& line, std::string& note) {
  for (const Limit& each : limits) {
    const Count number = number_at(line, each.field);
    const std::string value = number ? fmt::to_string(*number) : text_at(line, each.field);
    if (!value.empty() && value != "0") add_note(note, fmt::format(fmt::runtime(each.note), value));
  }
}

// Leaf functions have frames without pads in all programs. If few of many frames have pads, another
// compiler made most of them.
void note_unpadded(const json& line, const std::string& what, std::string& note) {
  const Count padded = number_at(line, "padded");
  const Count framed = number_at(line, "framed");
  constexpr std::int64_t many = 8;
  if (!padded || !framed || *framed < many || *padded > (*framed - 1) / 4) return;
  add_note(note, fmt::format("{} of the {} functions of {} that use the stack have pads", *padded,
                             *framed, what));
}

std::string period_text(std::int64_t ns) {
  return ns % 1'000'000 == 0 ? fmt::format("{}ms", ns / 1'000'000)
                             : fmt::format("{}us", ns / 1'000);
}

std::string share_text(std::int64_t percent) {
  return percent == 0 ? "off" : fmt::format("{}%", percent);
}

// The flags that are on, and their period and budget: "code once", "code heap shuffled repeated
// 500ms".
std::string kind_of(const json& line) {
  std::string kind;
  for (const std::string& name : plan::option_names()) {
    if (plan::find_option(name)->kind == plan::OptionKind::flag &&
        text_at(line, name.c_str()) == "on")
      kind += name + " ";
    if (const std::string allocator = text_at(line, "allocator");
        name == "heap" && !allocator.empty())
      kind += allocator + " ";
  }
  kind += text_at(line, "rerandomize");
  if (const Count period = number_at(line, "period_ns")) kind += " " + period_text(*period);
  // 0 means off, and 1 is the default.
  if (const Count percent = number_at(line, "budget_percent"); percent && *percent != 1)
    kind += " budget " + share_text(*percent);
  return kind;
}

bool is_on(const json& line, const char* flag) {
  return text_at(line, flag) == "on";
}

// Processes that did different things are not known to have done either.
void keep_if_same(std::optional<bool>& all, std::optional<bool> next) {
  if (all != next) all.reset();
}

// In a program that was not randomized all flags are off. An option about which the report says
// nothing is left out, so no trial that asks for it counts as having it.
plan::Variables did_in(const json& line, bool randomized) {
  plan::Variables did;
  for (const std::string& name : plan::option_names()) {
    const plan::OptionKind kind = plan::find_option(name)->kind;
    if (!randomized && kind != plan::OptionKind::flag) continue;
    switch (kind) {
      case plan::OptionKind::flag:
        did[name] = randomized && is_on(line, name.c_str()) ? "1" : "0";
        break;
      case plan::OptionKind::choice:
        did[name] = text_at(line, name.c_str());
        break;
      case plan::OptionKind::milliseconds:
        if (const Count period = number_at(line, "period_ns")) did[name] = period_text(*period);
        break;
      case plan::OptionKind::share:
        if (const Count percent = number_at(line, "budget_percent"))
          did[name] = share_text(*percent);
        break;
    }
  }
  return did;
}

bool obeys(const plan::Variables& did, const std::string& name, const std::string& value) {
  const auto found = did.find(name);
  return found != did.end() && found->second == value;
}

void add_image(const json& line, Layout& layout) {
  add(layout.functions, number_at(line, "functions"));
  add(layout.moved_functions, number_at(line, "moved"));
  add(layout.text_bytes, number_at(line, "text_bytes"));
  add(layout.moved_bytes, number_at(line, "moved_bytes"));
  add(layout.setup_ns, number_at(line, "setup_ns"));
}

Layout started(const json& line) {
  Layout layout;
  layout.randomized = text_at(line, "randomized") == "yes";
  if (*layout.randomized) {
    layout.kind = kind_of(line);
    layout.random_code = is_on(line, "code");
    layout.random_stack = is_on(line, "stack");
    layout.random_heap = is_on(line, "heap");
    layout.repeated = text_at(line, "rerandomize") == "repeated";
    if (const auto seed = line.find("seed"); seed != line.end() && seed->is_number_unsigned())
      layout.seed = seed->get<std::uint64_t>();
  }
  add_note(layout.note, text_at(line, "why"));
  add_limits(line, layout.note);
  note_unpadded(line, "the executable", layout.note);
  add_image(line, layout);
  return layout;
}

void took_library(const json& line, Process& process) {
  Layout& layout = process.report.layout;
  add_image(line, layout);
  if (text_at(line, "randomized") != "yes")
    add_note(layout.note, "a library was not randomized: " + text_at(line, "why"));
  add_limits(line, layout.note);
  const std::string file = text_at(line, "file");
  note_unpadded(line, file.empty() ? "a library" : file.substr(file.rfind('/') + 1), layout.note);
  // The executable may have no pads, but the pads of one library are enough. Earlier runtimes
  // report only how many functions of a library have pads.
  const bool pads = is_on(line, "stack") || number_at(line, "padded").value_or(0) > 0;
  if (!pads || !layout.randomized.value_or(false)) return;
  process.start["stack"] = "on";
  layout.kind = kind_of(process.start);
  layout.random_stack = true;
  process.report.did["stack"] = "1";
}

// Our runtime never writes such a line, but the program itself can.
constexpr const char* damaged_region = "a region in the runtime's report is damaged";

std::optional<NamedRegion> region_in(const json& line) {
  const Count ns = number_at(line, "ns");
  const Count count = number_at(line, "count");
  std::string name = text_at(line, "name");
  if (!ns || !count || *count < 1 || !plan::is_region_name(name)) return std::nullopt;
  return NamedRegion{.name = std::move(name), .ns = *ns, .count = *count};
}

void took_region(const json& line, RuntimeReport& report) {
  const auto region = region_in(line);
  if (!region || report.regions.size() == plan::max_regions ||
      std::ranges::find(report.regions, region->name, &NamedRegion::name) != report.regions.end())
    return add_own_note(report.layout.note, damaged_region);
  report.regions.push_back(*region);
  if (line.contains("open"))
    add_own_note(report.layout.note,
                 fmt::format("the region {} was still open when the program ended", region->name));
}

void add_regions(std::vector<NamedRegion>& all, const std::vector<NamedRegion>& more,
                 std::string& note) {
  for (const NamedRegion& each : more) {
    const auto found = std::ranges::find(all, each.name, &NamedRegion::name);
    if (found != all.end()) {
      found->ns = sum_of(found->ns, each.ns);
      found->count = sum_of(found->count, each.count);
    } else if (all.size() < plan::max_regions) {
      all.push_back(each);
    } else {
      add_own_note(
          note,
          fmt::format("stabd measures at most {} regions, but the program's processes have more",
                      plan::max_regions));
    }
  }
}

void ended(const json& line, Process& process) {
  Layout& layout = process.report.layout;
  process.asked_for_sandbox = false;
  layout.main_to_exit_ns = number_at(line, "run_ns");
  layout.regions = number_at(line, "regions");
  if (layout.regions.value_or(0) > 0) layout.region_ns = number_at(line, "region_ns");
  if (line.contains("region_open"))
    add_own_note(layout.note, "the region without a name was still open when the program ended");
  if (const Count refused = number_at(line, "regions_refused"))
    add_own_note(
        layout.note,
        fmt::format("{} regions were not measured: a region's name must consist of 1 to {} "
                    "letters, digits, '_', '.' and '-', and a program may have at most {} regions",
                    *refused, plan::max_region_name, plan::max_regions));
  layout.heap_operations = number_at(line, "heap_operations");
  layout.heap_bytes = number_at(line, "heap_bytes");
  layout.heap_fixed_bytes = number_at(line, "heap_fixed_bytes");
  if (!layout.randomized.value_or(false)) return;
  add_limits(line, layout.note);
  layout.epochs = number_at(line, "epochs");
  if (!layout.repeated.value_or(false)) return;
  layout.given_up = number_at(line, "given_up");
  layout.epochs_ns = number_at(line, "epochs_ns");
  layout.longest_pause_ns = number_at(line, "longest_pause_ns");
  add_note(layout.note, text_at(line, "why_given_up"));
}

void crashed(const json& line, Process& process) {
  const std::string function = text_at(line, "function");
  add_note(process.report.layout.note,
           fmt::format("signal {} in {}", number_at(line, "signal").value_or(0),
                       function.empty() ? "code that was not moved" : function));
}

// The runtime writes this line before the kernel answers. If the kernel refuses the sandbox, the
// report continues.
void asked_for_sandbox(const json& /*line*/, Process& process) {
  process.asked_for_sandbox = process.report.layout.repeated.value_or(false);
}

// If some process has pads, one that only lacks functions with pads did what it was asked for, too.
plan::Variables did_of(const Process& process, bool some_pads) {
  plan::Variables did = process.report.did;
  if (some_pads && process.start.contains("why_no_pads")) did["stack"] = "1";
  return did;
}

class ReportReader {
 public:
  void read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      read_line(text.substr(0, end), end < text.size());
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    for (Process& process : processes_)
      if (process.asked_for_sandbox)
        add_note(process.report.layout.note,
                 "the program asked for a sandbox, in which functions stay in place");
  }

  // If nothing was reported, the layout is empty except for its note.
  [[nodiscard]] RuntimeReport result(int own) const {
    const auto found = std::ranges::find(processes_, own, &Process::pid);
    RuntimeReport report;
    if (found != processes_.end())
      report = found->report;
    else if (!processes_.empty())
      report = together();
    add_notes(report.layout.note, note_);
    return report;
  }

 private:
  void read_line(std::string_view text, bool complete) {
    const json line = json::parse(text, nullptr, false);
    const Count pid = line.is_object() ? number_at(line, "pid") : std::nullopt;
    if (!complete || !pid || !std::in_range<int>(*pid)) {
      add_own_note(note_, "a line of the runtime's report is damaged: " + one_line(text, 80));
      return;
    }
    take(line, static_cast<int>(*pid));
  }

  // Ignores events that this version does not know, because later runtimes may add some.
  void take(const json& line, int pid) {
    const std::string event = text_at(line, "event");
    auto process = std::ranges::find(processes_, pid, &Process::pid);
    if (event == "start") {
      if (process == processes_.end())
        process = processes_.insert(
            process, {.pid = pid, .start = {}, .report = {}, .asked_for_sandbox = false});
      const bool randomized = text_at(line, "randomized") == "yes";
      process->start = line;
      process->asked_for_sandbox = false;
      // Programs of earlier versions of szc report "on" in this case.
      if (line.contains("why_no_pads")) process->start["stack"] = "off";
      process->report = {.layout = started(process->start),
                         .regions = {},
                         .did = did_in(process->start, randomized)};
      return;
    }
    const auto act = event == "library"   ? took_library
                     : event == "exit"    ? ended
                     : event == "signal"  ? crashed
                     : event == "sandbox" ? asked_for_sandbox
                                          : nullptr;
    if (act == nullptr && event != "region") return;
    if (process == processes_.end())
      add_own_note(note_, fmt::format("process {} reported its {} but not its start", pid, event));
    else if (act != nullptr)
      act(line, *process);
    else
      took_region(line, process->report);
  }

  [[nodiscard]] RuntimeReport together() const {
    const bool some_pads = std::ranges::any_of(
        processes_, [](const Process& each) { return obeys(each.report.did, "stack", "1"); });
    RuntimeReport report = processes_.front().report;
    report.did = did_of(processes_.front(), some_pads);
    Layout& all = report.layout;
    for (std::size_t i = 1; i < processes_.size(); ++i) {
      const Layout& next = processes_[i].report.layout;
      std::erase_if(report.did, [&, did = did_of(processes_[i], some_pads)](const auto& option) {
        return !obeys(did, option.first, option.second);
      });
      add_regions(report.regions, processes_[i].report.regions, all.note);
      all.randomized = *all.randomized && *next.randomized;
      if (all.kind != next.kind) all.kind = "mixed";
      keep_if_same(all.random_code, next.random_code);
      keep_if_same(all.random_stack, next.random_stack);
      keep_if_same(all.random_heap, next.random_heap);
      keep_if_same(all.repeated, next.repeated);
      add_notes(all.note, next.note);
      if (next.epochs) all.epochs = std::min(all.epochs.value_or(*next.epochs), *next.epochs);
      add(all.given_up, next.given_up);
      add(all.epochs_ns, next.epochs_ns);
      if (next.longest_pause_ns)
        all.longest_pause_ns = std::max(all.longest_pause_ns.value_or(0), *next.longest_pause_ns);
      add(all.functions, next.functions);
      add(all.moved_functions, next.moved_functions);
      add(all.text_bytes, next.text_bytes);
      add(all.moved_bytes, next.moved_bytes);
      add(all.setup_ns, next.setup_ns);
      add(all.region_ns, next.region_ns);
      add(all.regions, next.regions);
      add(all.heap_operations, next.heap_operations);
      add(all.heap_bytes, next.heap_bytes);
      add(all.heap_fixed_bytes, next.heap_fixed_bytes);
      // A sum without one of the processes would be wrong.
      if (!next.main_to_exit_ns)
        all.main_to_exit_ns.reset();
      else if (all.main_to_exit_ns)
        add(all.main_to_exit_ns, next.main_to_exit_ns);
    }
    if (processes_.size() > 1)
      add_own_note(all.note, fmt::format("{} processes taken together", processes_.size()));
    return report;
  }

  std::vector<Process> processes_;
  std::string note_;
};

std::string disobeyed(const std::string& name, const std::string& value, const plan::Variables& did,
                      const Layout& layout) {
  const bool knows_why = did.contains(name) && !layout.note.empty();
  const bool lacks_pads = knows_why && name == "stack" && layout.random_stack == false;
  return fmt::format("the plan asks for {}={}, but the program's runtime reported '{}': {}{}", name,
                     value, layout.kind.empty() ? "nothing" : layout.kind,
                     knows_why ? layout.note
                               : "either szc did not build the program, or the version of its "
                                 "runtime does not support this option",
                     lacks_pads ? "; to run the program without pads, set stack = false in "
                                  "[randomize], or remove the factor 'stack'"
                                : "");
}

// Why the numbers of the runtime's last line are missing; "" if they are there.
std::string last_line_fault(const Layout& layout) {
  if (!layout.randomized)
    return "the program has no runtime that measures regions: build it with szc";
  if (!layout.main_to_exit_ns)
    return "the last line of the runtime's report is missing, because the program was ended from "
           "outside";
  return "";
}

}  // namespace

std::string options_text(const plan::Variables& options, const RuntimeFiles& files) {
  std::string text;
  for (const auto& [name, value] : options) text += fmt::format("{}={}:", name, value);
  if (!files.report.empty()) text += fmt::format("report={}:", files.report);
  if (!files.places.empty()) text += fmt::format("places={}:", files.places);
  if (text.size() < options_size) text.append(options_size - text.size(), ':');
  return text;
}

RuntimeReport read_report(std::string_view text, int own) {
  ReportReader reader;
  reader.read(text);
  return reader.result(own);
}

std::string layout_fault(const protocol::RunRequest& request, const Layout& layout,
                         const plan::Variables& did, bool preloaded, std::string_view in_place) {
  if (request.needs == plan::Needs::nothing) return "";
  if (!layout.randomized && !in_place.empty())
    return fmt::format("the plan asks for a random layout, but this program can't have one: {}",
                       in_place);
  if (!layout.randomized)
    return fmt::format(
        "the plan asks for a random layout, but the program has no runtime that makes one: build "
        "it with szc, for example with CC = \"szc\" in [variables]{}{}",
        layout.note.empty() ? "" : "; ", layout.note);
  const bool must = preloaded ? plan::wants_heap(request.options).value_or(false)
                              : request.needs == plan::Needs::randomized;
  if (must && !*layout.randomized)
    return fmt::format("the program was not randomized: {}", layout.note);
  for (const auto& [name, value] : plan::acting(request.options)) {
    if (plan::find_option(name) == nullptr ||
        std::ranges::find(request.by_default, name) != request.by_default.end())
      continue;
    if (!obeys(did, name, value)) return disobeyed(name, value, did, layout);
  }
  return "";
}

std::string response_fault(const protocol::RunRequest& request, const Layout& layout) {
  const bool region = request.response == "region";
  if (!region && request.response != "main_to_exit") return "";
  if (const std::string fault = last_line_fault(layout); !fault.empty())
    return fmt::format("the response is {}, but {}", request.response, fault);
  if (region && !layout.region_ns)
    return "the response is 'region', but the program did not mark any region: put STAB_BEGIN() "
           "and STAB_END() from stabilizer.h around the code to measure";
  return "";
}

std::vector<counters::Reading> region_readings(const RuntimeReport& report,
                                               const std::vector<std::string>& wanted) {
  std::vector<counters::Reading> readings;
  const std::string fault = last_line_fault(report.layout);
  // Without the last line of one process, the sums would be wrong.
  for (const NamedRegion& each : fault.empty() ? report.regions : std::vector<NamedRegion>{}) {
    readings.push_back(counters::counted(plan::region_time(each.name), "ns", each.ns));
    readings.push_back(counters::counted(plan::region_count(each.name), "", each.count));
  }
  for (const std::string& name : wanted) {
    const auto region = plan::region_of(name);
    if (!region || std::ranges::find(readings, name, &counters::Reading::name) != readings.end())
      continue;
    readings.push_back(counters::absent(
        name, name == plan::region_time(*region) ? "ns" : "",
        fault.empty()
            ? fmt::format(
                  "the program did not enter the region: put STAB_BEGIN_REGION(\"{0}\") and "
                  "STAB_END_REGION(\"{0}\") from stabilizer.h around the code to measure",
                  *region)
            : fault));
  }
  return readings;
}

}  // namespace stab::worker
