// SPDX-License-Identifier: MIT
#include "stabd/worker/runtime_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.h"
#include "design/resolve.h"
#include "plan/options.h"

namespace stab::worker {
namespace {

using nlohmann::json;
using store::Layout;
using Count = std::optional<std::int64_t>;

constexpr std::size_t max_note = 500;

// One process, from its start line on.
struct Process {
  int pid = 0;
  Layout layout;
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

void add(Count& sum, Count more) {
  if (more) sum = sum.value_or(0) + *more;
}

void add_note(std::string& note, const std::string& more) {
  if (more.empty() || note.contains(more) || note.size() > max_note) return;
  note += (note.empty() ? "" : "; ") + one_line(more, max_note);
}

bool has_word(const std::string& kind, const std::string& word) {
  return fmt::format(" {} ", kind).contains(fmt::format(" {} ", word));
}

// "code once", "code heap shuffled repeated 500ms": which flags are on, and how.
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
  if (const Count period = number_at(line, "period_ns"))
    kind += *period % 1'000'000 == 0 ? fmt::format(" {}ms", *period / 1'000'000)
                                     : fmt::format(" {}us", *period / 1'000);
  // 0 is "off", and 1 what goes without saying.
  if (const Count percent = number_at(line, "budget_percent"); percent && *percent != 1)
    kind += *percent == 0 ? " budget off" : fmt::format(" budget {}%", *percent);
  return kind;
}

bool obeys(const std::string& kind, const plan::RuntimeOption& option, const std::string& value) {
  const std::string name(option.name);
  switch (option.kind) {
    case plan::OptionKind::flag:
      return has_word(kind, name) == (value == "1");
    case plan::OptionKind::share:
      return value == "1%" ? !has_word(kind, name) : has_word(kind, name + " " + value);
    case plan::OptionKind::choice:
    case plan::OptionKind::milliseconds:
      break;
  }
  return has_word(kind, value);
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
    if (const auto seed = line.find("seed"); seed != line.end() && seed->is_number_unsigned())
      layout.seed = seed->get<std::uint64_t>();
  }
  add_note(layout.note, text_at(line, "why"));
  add_note(layout.note, text_at(line, "heap_why"));
  add_image(line, layout);
  return layout;
}

void took_library(const json& line, Layout& layout) {
  add_image(line, layout);
  if (text_at(line, "randomized") != "yes")
    add_note(layout.note, "a library was not randomized: " + text_at(line, "why"));
}

void ended(const json& line, Layout& layout) {
  layout.main_to_exit_ns = number_at(line, "run_ns");
  layout.regions = number_at(line, "regions");
  if (layout.regions.value_or(0) > 0) layout.region_ns = number_at(line, "region_ns");
  layout.heap_operations = number_at(line, "heap_operations");
  layout.heap_bytes = number_at(line, "heap_bytes");
  layout.heap_fixed_bytes = number_at(line, "heap_fixed_bytes");
  if (!layout.randomized.value_or(false)) return;
  layout.epochs = number_at(line, "epochs");
  if (!has_word(layout.kind, "repeated")) return;
  layout.given_up = number_at(line, "given_up");
  layout.epochs_ns = number_at(line, "epochs_ns");
  layout.longest_pause_ns = number_at(line, "longest_pause_ns");
  add_note(layout.note, text_at(line, "why_given_up"));
}

void crashed(const json& line, Layout& layout) {
  const std::string function = text_at(line, "function");
  add_note(layout.note, fmt::format("signal {} in {}", number_at(line, "signal").value_or(0),
                                    function.empty() ? "code that was not moved" : function));
}

class Reader {
 public:
  void read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      read_line(text.substr(0, end), end < text.size());
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  // Nothing was reported: an empty layout with what there is to say.
  [[nodiscard]] Layout result(int own) const {
    const auto found = std::ranges::find(processes_, own, &Process::pid);
    Layout layout;
    if (found != processes_.end())
      layout = found->layout;
    else if (!processes_.empty())
      layout = together();
    add_note(layout.note, note_);
    return layout;
  }

 private:
  void read_line(std::string_view text, bool complete) {
    const json line = json::parse(text, nullptr, false);
    const Count pid = line.is_object() ? number_at(line, "pid") : std::nullopt;
    if (!complete || !pid || !std::in_range<int>(*pid)) {
      add_note(note_, "a line of the report is damaged: " + one_line(text, 80));
      return;
    }
    take(line, static_cast<int>(*pid));
  }

  // Events that later runtimes add are none of ours.
  void take(const json& line, int pid) {
    const std::string event = text_at(line, "event");
    auto process = std::ranges::find(processes_, pid, &Process::pid);
    if (event == "start") {
      if (process == processes_.end())
        process = processes_.insert(process, {.pid = pid, .layout = {}});
      process->layout = started(line);
      return;
    }
    const auto act = event == "library"  ? took_library
                     : event == "exit"   ? ended
                     : event == "signal" ? crashed
                                         : nullptr;
    if (act == nullptr) return;
    if (process == processes_.end())
      add_note(note_, fmt::format("process {} reported its {} without its start", pid, event));
    else
      act(line, process->layout);
  }

  [[nodiscard]] Layout together() const {
    Layout all = processes_.front().layout;
    for (std::size_t i = 1; i < processes_.size(); ++i) {
      const Layout& next = processes_[i].layout;
      all.randomized = *all.randomized && *next.randomized;
      if (all.kind != next.kind) all.kind = "mixed";
      add_note(all.note, next.note);
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
      // The sum of some only would be a wrong number.
      if (!next.main_to_exit_ns)
        all.main_to_exit_ns.reset();
      else if (all.main_to_exit_ns)
        add(all.main_to_exit_ns, next.main_to_exit_ns);
    }
    if (processes_.size() > 1)
      add_note(all.note, fmt::format("{} processes taken together", processes_.size()));
    return all;
  }

  std::vector<Process> processes_;
  std::string note_;
};

std::string disobeyed(const std::string& name, const std::string& value, const Layout& layout) {
  return fmt::format(
      "the plan asks for {}={}, and the program's runtime did '{}': it is of a version that cannot "
      "do it",
      name, value, layout.kind.empty() ? "nothing" : layout.kind);
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

Layout read_report(std::string_view text, int own) {
  Reader reader;
  reader.read(text);
  return reader.result(own);
}

std::string layout_fault(const protocol::RunRequest& request, const Layout& layout,
                         bool preloaded) {
  if (request.needs == plan::Needs::nothing) return "";
  if (!layout.randomized)
    return fmt::format(
        "the plan asks for a random layout, and the program has no runtime that makes one: build "
        "it with szc, as with CC = \"szc\" in [variables]{}{}",
        layout.note.empty() ? "" : "; ", layout.note);
  const bool must = preloaded ? plan::wants_heap(request.options).value_or(false)
                              : request.needs == plan::Needs::randomized;
  if (must && !*layout.randomized)
    return fmt::format("the program was not randomized: {}", layout.note);
  for (const auto& [name, value] : plan::acting(request.options)) {
    const plan::RuntimeOption* option = plan::find_option(name);
    if (option == nullptr) continue;
    if (!obeys(layout.kind, *option, value)) return disobeyed(name, value, layout);
  }
  return "";
}

std::string response_fault(const protocol::RunRequest& request, const Layout& layout) {
  const bool region = request.response == "region";
  if (!region && request.response != "main_to_exit") return "";
  if (!layout.randomized)
    return fmt::format(
        "the response is {}, and the program has no runtime that measures it: build it with szc",
        request.response);
  if (!layout.main_to_exit_ns)
    return fmt::format(
        "the response is {}, and the program ended without its runtime's last "
        "line: something ended it from outside",
        request.response);
  if (region && !layout.region_ns)
    return "the response is region, and the program marked none: put STAB_BEGIN() and STAB_END() "
           "of "
           "stabilizer.h around it";
  return "";
}

}  // namespace stab::worker
