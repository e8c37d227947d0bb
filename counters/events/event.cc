// SPDX-License-Identifier: MIT
#include "counters/events/event.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/hw_breakpoint.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "counters/events/kernel_event.h"

namespace stab::counters {
namespace {

// libpfm, which knows the names of the CPUs' events. It is loaded when the first name is looked up: its tables have
// 300 pages of addresses, which a program that is linked with it relocates at each start and copies at each fork.

struct Library {
  decltype(&pfm_initialize) initialize;
  decltype(&pfm_strerror) strerror;
  decltype(&pfm_get_pmu_info) get_pmu_info;
  decltype(&pfm_get_event_info) get_event_info;
  decltype(&pfm_get_event_next) get_event_next;
  decltype(&pfm_get_event_attr_info) get_event_attr_info;
  decltype(&pfm_get_os_event_encoding) get_os_event_encoding;
};

constexpr const char* file = "libpfm.so.4";

Result<Library> load() {
  void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(fmt::format(
        "the library {}, which knows the names of events, cannot be loaded: install libpfm4",
        file));
  const char* missing = nullptr;
  const auto function = [&](auto*& pointer, const char* name) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(handle, name));
    if (pointer == nullptr) missing = name;
  };
  Library library{};
  function(library.initialize, "pfm_initialize");
  function(library.strerror, "pfm_strerror");
  function(library.get_pmu_info, "pfm_get_pmu_info");
  function(library.get_event_info, "pfm_get_event_info");
  function(library.get_event_next, "pfm_get_event_next");
  function(library.get_event_attr_info, "pfm_get_event_attr_info");
  function(library.get_os_event_encoding, "pfm_get_os_event_encoding");
  if (missing != nullptr) return fail(fmt::format("{} has no function {}", file, missing));
  if (library.initialize() != PFM_SUCCESS) return fail("libpfm does not know this machine");
  return library;
}

// Its state is the process's. An error if it is not installed, or does not know this machine.
const Result<Library>& libpfm() {
  static const Result<Library> library = load();
  return library;
}

constexpr std::size_t longest_name = 200;

// The kernel's names for the counters of the CPUs. Hybrid CPUs have two kinds of counters.
constexpr std::array cpus{"cpu", "cpu_core", "cpu_atom"};

std::string type_file(const char* cpu) {
  return fmt::format("/sys/bus/event_source/devices/{}/type", cpu);
}

bool is_type_of_cpu(std::uint32_t type) {
  return std::ranges::any_of(cpus, [&](const char* cpu) {
    const auto text = read_file(type_file(cpu), 64);
    return text && *text == fmt::format("{}\n", type);
  });
}

template <class Info>
Info with_size() {
  Info info{};
  info.size = sizeof info;
  return info;
}

// libpfm has the names of generic events in upper case, but users of perf write them in lower case.
std::string shown_name(std::string_view name, bool generic) {
  std::string shown(name);
  if (generic && !name.starts_with("PERF_COUNT_"))
    std::ranges::transform(shown, shown.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return shown;
}

std::vector<std::string> attributes_of(const Library& library, int event, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    auto info = with_size<pfm_event_attr_info_t>();
    if (library.get_event_attr_info(event, i, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS) continue;
    // All other attributes select the side to count. Messages of find_event() name those.
    if (info.type == PFM_ATTR_UMASK) names.emplace_back(info.name);
  }
  return names;
}

void list_of(const Library& library, pfm_pmu_t pmu, std::vector<Listed>& all) {
  auto source = with_size<pfm_pmu_info_t>();
  if (library.get_pmu_info(pmu, &source) != PFM_SUCCESS || source.is_present == 0) return;
  if (pmu == PFM_PMU_PERF_EVENT_RAW) return;  // a syntax for names, not an event
  const bool generic = pmu == PFM_PMU_PERF_EVENT;
  const auto is_tracepoint = [&](std::string_view name) { return generic && name.contains(':'); };
  for (int event = source.first_event; event != -1; event = library.get_event_next(event)) {
    auto info = with_size<pfm_event_info_t>();
    if (library.get_event_info(event, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS) continue;
    if (is_tracepoint(info.name)) continue;  // list_tracepoints() lists these
    Listed listed{
        .name = shown_name(info.name, generic),
        .same_as = info.equiv != nullptr ? info.equiv : "",
        .meaning = info.desc == nullptr || std::string_view(info.desc).starts_with("PERF_COUNT_")
                       ? ""
                       : one_line(info.desc, 300),
        .source = source.name,
        .attributes = attributes_of(library, event, info.nattrs)};
    if (!generic) listed.name = fmt::format("{}::{}", source.name, listed.name);
    all.push_back(std::move(listed));
  }
}

std::optional<std::uint64_t> number_in(std::string_view text, int base) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Parses the text after "mem:", such as "0x401000" or "0x404040/4:w".
Result<perf_event_attr> find_address(std::string_view text) {
  const auto wrong = [](std::string_view what) {
    return fail(
        fmt::format("{}; write mem:0xADDRESS or mem:0xADDRESS/LENGTH, with a length of 1, 2, "
                    "4 or 8 bytes; you may add :r, :w, :rw or :x",
                    what));
  };
  std::string_view access = "rw";
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    access = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  std::uint64_t length = access == "x" ? sizeof(long) : HW_BREAKPOINT_LEN_4;
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto given = number_in(text.substr(slash + 1), 10);
    if (!given || access == "x" || (*given != 1 && *given != 2 && *given != 4 && *given != 8))
      return wrong("the length of the access is invalid");
    length = *given;
    text = text.substr(0, slash);
  }
  const auto address = text.starts_with("0x") ? number_in(text.substr(2), 16) : std::nullopt;
  if (!address) return wrong("the address is invalid");
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_addr = *address;
  attr.bp_len = length;
  if (access == "r" || access == "rw")  // x86 can't watch reads alone
    attr.bp_type = HW_BREAKPOINT_R | HW_BREAKPOINT_W;
  else if (access == "w")
    attr.bp_type = HW_BREAKPOINT_W;
  else if (access == "x")
    attr.bp_type = HW_BREAKPOINT_X;
  else
    return wrong("the kind of access is invalid");
  // Accesses by the kernel are excluded, because it traps once per copy and not once per access.
  attr.exclude_kernel = 1;
  return attr;
}

// The name of the event without its attributes.
std::string without_attributes(std::string_view name) {
  const auto colons = name.find("::");
  const auto colon = name.find(':', colons == std::string_view::npos ? 0 : colons + 2);
  return std::string(name.substr(0, colon));
}

// Whether the name has the form of a tracepoint, such as "sched:sched_switch".
bool may_be_tracepoint(std::string_view name) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view rest = name.substr(colon + 1);
  return !rest.contains(':') && rest.find_first_not_of("uk") != std::string_view::npos;
}

constexpr std::string_view sides =
    "the modifiers 'u' (only the program) and 'k' (only the kernel on its behalf), as in "
    "'cycles:u'";

std::unexpected<Error> unknown(std::string_view name) {
  const std::string event = shown_name(without_attributes(name), true);
  std::vector<std::string> names;
  for (const Listed& listed : list_events()) {
    const std::string shown = shown_name(listed.name, true);
    if (shown == event) {
      const std::string own = listed.attributes.empty()
                                  ? ""
                                  : fmt::format("{}, and ", fmt::join(listed.attributes, ", "));
      return fail(fmt::format("the event '{}' does not have this attribute; it has {}{}", event,
                              own, sides));
    }
    names.push_back(shown);
  }
  const std::string near = nearest(may_be_tracepoint(name) ? shown_name(name, true) : event, names);
  const bool tracepoint = std::ranges::count(name, ':') == 1 && near.empty();
  return fail(fmt::format(
      "'{}' is not an event{}; 'stabctl counters' lists the events of this machine{}",
      one_line(name, 80), near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
      tracepoint ? "; tracepoints are known only where tracefs is mounted and readable" : ""));
}

Result<perf_event_attr> find_in_library(const std::string& name) {
  const auto& library = libpfm();
  if (!library) return std::unexpected(library.error());
  perf_event_attr attr{};
  attr.size = sizeof attr;
  char* full_name = nullptr;
  auto request = with_size<pfm_perf_encode_arg_t>();
  request.attr = &attr;
  request.fstr = &full_name;
  // PFM_OS_PERF_EVENT refuses attributes for sampling, because those would change the event.
  const int outcome = library->get_os_event_encoding(name.c_str(), PFM_PLM0 | PFM_PLM3,
                                                     PFM_OS_PERF_EVENT, &request);
  const std::unique_ptr<char, decltype(&std::free)> owned(full_name, &std::free);
  // A count of neither side would be 0, and a count of guests would include other programs.
  if (outcome == PFM_SUCCESS && ((attr.exclude_user != 0 && attr.exclude_kernel != 0) ||
                                 attr.exclude_host != 0 || attr.exclude_guest == 0))
    return fail(
        fmt::format("'{}' would count neither the program nor the kernel on its behalf, or would "
                    "also count guests of virtual machines; the event has {}",
                    one_line(name, 80), sides));
  if (outcome == PFM_SUCCESS) return attr;
  if (outcome == PFM_ERR_NOTFOUND || outcome == PFM_ERR_ATTR) return unknown(name);
  return fail(fmt::format("'{}': {}", one_line(name, 80), library->strerror(outcome)));
}

Result<perf_event_attr> find_attr(std::string_view name) {
  constexpr std::string_view address = "mem:";
  if (name.starts_with(address)) return find_address(name.substr(address.size()));
  if (is_of_device(name)) return find_device_event(name);
  if (auto tracepoint = find_tracepoint(name)) return *std::move(tracepoint);
  return find_in_library(std::string(name));
}

bool is_clock(const perf_event_attr& attr) {
  return attr.type == PERF_TYPE_SOFTWARE &&
         (attr.config == PERF_COUNT_SW_TASK_CLOCK || attr.config == PERF_COUNT_SW_CPU_CLOCK);
}

}  // namespace

std::string_view Event::unit() const {
  return is_clock(attr) ? "ns" : "";
}

bool Event::is_of_kernel() const {
  switch (attr.type) {
    case PERF_TYPE_HARDWARE:
    case PERF_TYPE_HW_CACHE:
    case PERF_TYPE_RAW:
    case PERF_TYPE_BREAKPOINT:
      return false;
    case PERF_TYPE_SOFTWARE:
      return attr.config != PERF_COUNT_SW_CPU_CLOCK && attr.config != PERF_COUNT_SW_TASK_CLOCK &&
             attr.config != PERF_COUNT_SW_PAGE_FAULTS &&
             attr.config != PERF_COUNT_SW_PAGE_FAULTS_MIN &&
             attr.config != PERF_COUNT_SW_PAGE_FAULTS_MAJ;
    default:  // tracepoints, and types that this version does not know
      return !is_type_of_cpu(attr.type);
  }
}

std::string Event::on_program_side() const {
  return name + (name.ends_with('/') ? "u" : ":u");
}

bool Event::has_side() const {
  return name.contains(':') || (name.contains('/') && !name.ends_with('/'));
}

bool Event::is_of_hardware() const {
  return attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE ||
         attr.type == PERF_TYPE_RAW || is_type_of_cpu(attr.type);
}

bool has_hardware_counters() {
  return std::ranges::any_of(
      cpus, [](const char* cpu) { return access(type_file(cpu).c_str(), F_OK) == 0; });
}

Result<Event> find_event(std::string_view name) {
  if (name.empty() || name.size() > longest_name || one_line(name, longest_name) != name)
    return fail(
        fmt::format("the name of an event must have 1 to {} printable characters", longest_name));
  if (access(paranoid_file, F_OK) != 0)
    return fail(fmt::format("this kernel has no perf events: {} does not exist", paranoid_file));
  auto attr = find_attr(name);
  if (!attr && may_be_tracepoint(name) && hides_tracepoints())
    return Event{.name = std::string(name),
                 .unknown =
                     "the name may be a tracepoint, but this user is not allowed to look up or "
                     "count tracepoints"};
  if (!attr) return std::unexpected(attr.error());
  // A guest's work doesn't belong to the program; libpfm leaves it out by itself.
  if (is_type_of_cpu(attr->type)) attr->exclude_guest = 1;
  if (is_clock(*attr)) {
    if (attr->exclude_user != 0 || attr->exclude_kernel != 0)
      return fail(
          fmt::format("'{}': this clock counts the time in the program and in the kernel together, "
                      "so leave out ':u' or ':k'",
                      name));
    // Clocks count the same with this flag, and then need no special rights.
    attr->exclude_kernel = 1;
  }
  return Event{.name = std::string(name), .attr = *attr};
}

std::vector<Listed> list_events() {
  std::vector<Listed> all;
  if (const auto& library = libpfm())
    for (int pmu = PFM_PMU_NONE + 1; pmu < PFM_PMU_MAX; ++pmu)
      list_of(*library, static_cast<pfm_pmu_t>(pmu), all);
  for (const auto list : {list_device_events, list_tracepoints})
    std::ranges::move(list({}), std::back_inserter(all));
  return all;
}

}  // namespace stab::counters
