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
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace stab::counters {
namespace {

// Events that the kernel describes in files.

namespace fs = std::filesystem;

constexpr std::size_t longest_description = 4096;  // files in sysfs have at most one page

// The fields of perf_event_attr that hold a device's terms.
constexpr std::array fields{"config", "config1", "config2"};
using Fields = std::array<std::uint64_t, fields.size()>;

struct Term {
  std::string name;
  // Without a value, the term is the name of an event, or its value is 1.
  std::optional<std::uint64_t> value;
};

// The bits of a term in one field, lowest first.
struct Format {
  std::size_t field = 0;
  std::vector<unsigned> bits;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> number_of(std::string_view text, int base) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  return text.starts_with("0x") ? number_of<std::uint64_t>(text.substr(2), 16)
                                : number_of<std::uint64_t>(text, 10);
}

// Names come from plans, so they must not lead to another folder.
bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && !name.contains('/') &&
         !name.contains('\0');
}

// The file's first line.
std::optional<std::string> line_of(const std::string& path) {
  auto text = read_file(path, longest_description);
  if (!text) return std::nullopt;
  text->resize(std::min(text->find('\n'), text->size()));
  return *std::move(text);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator each(folder, ignored), end; each != end; each.increment(ignored))
    names.push_back(each->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// Parses "event=0x3c,umask,name=0x1". The error is the part that it can't parse.
std::expected<std::vector<Term>, std::string> terms_of(std::string_view text) {
  std::vector<Term> terms;
  for (const std::string_view part : split(text, ',')) {
    const auto equals = part.find('=');
    Term term{.name = std::string(part.substr(0, equals)), .value = {}};
    if (equals != std::string_view::npos) {
      term.value = number_in(part.substr(equals + 1));
      if (!term.value) return std::unexpected(std::string(part));
    }
    if (!is_file_name(term.name)) return std::unexpected(std::string(part));
    terms.push_back(std::move(term));
  }
  return terms;
}

// Parses "config:0-7,32-35".
std::optional<Format> format_of(std::string_view text) {
  const auto colon = text.find(':');
  const auto field = std::ranges::find(fields, text.substr(0, colon));
  if (colon == std::string_view::npos || field == fields.end()) return std::nullopt;
  Format format{.field = static_cast<std::size_t>(field - fields.begin()), .bits = {}};
  for (const std::string_view part : split(text.substr(colon + 1), ',')) {
    const auto dash = part.find('-');
    const auto first = number_of<unsigned>(part.substr(0, dash), 10);
    const auto last =
        dash == std::string_view::npos ? first : number_of<unsigned>(part.substr(dash + 1), 10);
    if (!first || !last || *first > *last || *last > 63) return std::nullopt;
    for (unsigned bit = *first; bit <= *last; ++bit) format.bits.push_back(bit);
  }
  return format;
}

// A device of the kernel, which may not exist.
class Device {
 public:
  Device(std::string name, const KernelFiles& files)
      : folder_(files.devices + "/" + name), name_(std::move(name)) {}

  [[nodiscard]] std::optional<std::uint32_t> type() const {
    const auto text = line_of(folder_ + "/type");
    return text ? number_of<std::uint32_t>(*text, 10) : std::nullopt;
  }
  // Why the device's events can't be counted for a program; "" if they can.
  [[nodiscard]] std::string why_not() const;
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> names = names_in(folder_ + "/events");
    // The folder also has files for the unit and the scale of an event, whose names contain a dot.
    std::erase_if(names, [](const std::string& name) { return name.contains('.'); });
    return names;
  }
  // Puts the terms into the fields; later terms override earlier ones. The error says which term is
  // wrong.
  Result<void> put(const std::vector<Term>& terms, Fields& into, bool in_event = false) const;

 private:
  Result<void> put_event(const std::string& event, Fields& into) const;
  Result<void> put_value(const Term& term, Fields& into) const;
  [[nodiscard]] std::string what_it_has() const;

  std::string folder_;
  std::string name_;
};

std::string Device::why_not() const {
  if (!type()) return "there is no such device";
  if (name_ == "breakpoint") return "to count accesses to an address, write mem:0xADDRESS";
  if (name_ == "uprobe" || name_ == "kprobe")
    return "a probe is counted through its tracepoint: create the probe with perf probe, then "
           "write its tracepoint here as GROUP:NAME";
  if (access((folder_ + "/cpumask").c_str(), F_OK) == 0)
    return "this device counts the whole machine, not a single program";
  return "";
}

std::string Device::what_it_has() const {
  std::vector<std::string> terms = names_in(folder_ + "/format");
  terms.emplace_back("config");
  const std::vector<std::string> named = events();
  return fmt::format("it has the terms {}{}", fmt::join(terms, ", "),
                     named.empty()
                         ? ""
                         : fmt::format(", and the events {}",
                                       one_line(fmt::format("{}", fmt::join(named, ", ")), 400)));
}

Result<void> Device::put_value(const Term& term, Fields& into) const {
  const std::uint64_t value = term.value.value_or(1);
  if (const auto field = std::ranges::find(fields, term.name); field != fields.end()) {
    if (!term.value) return fail(fmt::format("'{}' needs a number: {}=0x1", term.name, term.name));
    into[static_cast<std::size_t>(field - fields.begin())] = value;
    return {};
  }
  const auto text = line_of(folder_ + "/format/" + term.name);
  if (!text) return fail(fmt::format("'{}' has no '{}'; {}", name_, term.name, what_it_has()));
  const auto format = format_of(*text);
  if (!format)
    return fail(fmt::format("the term '{}' of the device '{}' has an unknown format: {}", term.name,
                            name_, one_line(*text, 80)));
  if (format->bits.size() < 64 && value >> format->bits.size() != 0)
    return fail(fmt::format("the term '{}' of the device '{}' has {} bits, which cannot hold {:#x}",
                            term.name, name_, format->bits.size(), value));
  for (std::size_t i = 0; i < format->bits.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << format->bits[i];
    std::uint64_t& field = into[format->field];
    field = (value >> i & 1) != 0 ? field | bit : field & ~bit;
  }
  return {};
}

Result<void> Device::put_event(const std::string& event, Fields& into) const {
  const std::string file = folder_ + "/events/" + event;
  const auto scale = line_of(file + ".scale");
  if (scale && *scale != "1" && *scale != "1.0")
    return fail(
        fmt::format("stabd cannot measure '{}/{}/', because its value would have to be multiplied "
                    "by {}. Measure the terms of the event instead: {}",
                    name_, event, one_line(*scale, 40), one_line(line_of(file).value_or(""), 200)));
  const std::string text = line_of(file).value_or("");
  const auto terms = terms_of(text);
  if (!terms)
    return fail(
        fmt::format("the event '{}/{}/' needs a value for '{}'. Instead of the event, write its "
                    "terms with this value filled in: {}",
                    name_, event, one_line(terms.error(), 80), one_line(text, 200)));
  return put(*terms, into, true);
}

Result<void> Device::put(const std::vector<Term>& terms, Fields& into, bool in_event) const {
  for (const Term& term : terms) {
    const bool is_event =
        !in_event && !term.value && access((folder_ + "/events/" + term.name).c_str(), F_OK) == 0;
    auto done = is_event ? put_event(term.name, into) : put_value(term, into);
    if (!done) return done;
  }
  return {};
}

// Selects the sides to count: "u", "k", "uk", or "" for no change. Returns false for any other
// letters.
bool set_sides(std::string_view sides, perf_event_attr& attr) {
  if (sides.find_first_not_of("uk") != std::string_view::npos) return false;
  if (sides.empty()) return true;
  attr.exclude_user = sides.contains('u') ? 0 : 1;
  attr.exclude_kernel = sides.contains('k') ? 0 : 1;
  return true;
}

// The first folder of tracepoints that this user can read, or "".
std::string seen_tracepoints(const KernelFiles& files) {
  const auto seen = std::ranges::find_if(files.tracepoints, [](const std::string& folder) {
    return access(folder.c_str(), R_OK | X_OK) == 0;
  });
  return seen == files.tracepoints.end() ? "" : *seen;
}

}  // namespace

bool is_of_device(std::string_view name) {
  return name.contains('/') && !name.contains(':');
}

Result<perf_event_attr> find_device_event(std::string_view name, const KernelFiles& files) {
  const auto parts = split(name, '/');
  const auto wrong = [&](const std::string& what) {
    return fail(fmt::format("'{}': {}", one_line(name, 120), what));
  };
  if (parts.size() != 3 || !is_file_name(parts[0]))
    return wrong(
        "write an event of a device as DEVICE/TERM=NUMBER,.../. After the last '/', you may add u "
        "or k");
  const Device device(std::string(parts[0]), files);
  if (const std::string why = device.why_not(); !why.empty()) {
    const std::string near = nearest(parts[0], names_in(files.devices));
    return wrong(fmt::format(
        "{}{}", why,
        device.type() || near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
  }
  const auto terms = terms_of(parts[1]);
  if (!terms)
    return wrong(
        fmt::format("'{}' is not a term: write TERM or TERM=NUMBER", one_line(terms.error(), 80)));
  Fields set{};
  if (auto put = device.put(*terms, set); !put) return wrong(put.error().message);
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = *device.type();
  attr.config = set[0];
  attr.config1 = set[1];
  attr.config2 = set[2];
  if (!set_sides(parts[2], attr))
    return wrong("only u (count user code) and k (count kernel code) may follow the last '/'");
  return attr;
}

std::optional<Result<perf_event_attr>> find_tracepoint(std::string_view name,
                                                       const KernelFiles& files) {
  const auto parts = split(name, ':');
  if (parts.size() < 2 || !is_file_name(parts[0]) || !is_file_name(parts[1])) return std::nullopt;
  const std::string folder = seen_tracepoints(files);
  if (folder.empty()) return std::nullopt;
  const auto text = line_of(fmt::format("{}/{}/{}/id", folder, parts[0], parts[1]));
  const auto id = text ? number_of<std::uint64_t>(*text, 10) : std::nullopt;
  if (!id) return std::nullopt;
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = *id;
  std::string sides;
  for (std::size_t i = 2; i < parts.size(); ++i) sides += parts[i].empty() ? "?" : parts[i];
  if (!set_sides(sides, attr))
    return fail(
        fmt::format("'{}': only u and k may follow the name of a tracepoint", one_line(name, 120)));
  return attr;
}

bool hides_tracepoints(const KernelFiles& files) {
  return seen_tracepoints(files).empty() &&
         std::ranges::any_of(files.tracepoints, [](const std::string& folder) {
           return access(folder.c_str(), R_OK | X_OK) != 0 && errno == EACCES;
         });
}

std::vector<Listed> list_device_events(const KernelFiles& files) {
  std::vector<Listed> all;
  for (const std::string& name : names_in(files.devices)) {
    const Device device(name, files);
    if (!device.why_not().empty()) continue;
    for (const std::string& event : device.events())
      all.push_back({.name = fmt::format("{}/{}/", name, event),
                     .same_as = "",
                     .meaning = "",
                     .source = name,
                     .attributes = {}});
  }
  return all;
}

std::vector<Listed> list_tracepoints(const KernelFiles& files) {
  std::vector<Listed> all;
  const std::string folder = seen_tracepoints(files);
  for (const std::string& group : names_in(folder))
    for (const std::string& name : names_in(folder + "/" + group))
      if (access(fmt::format("{}/{}/{}/id", folder, group, name).c_str(), F_OK) == 0)
        all.push_back({.name = fmt::format("{}:{}", group, name),
                       .same_as = "",
                       .meaning = "",
                       .source = std::string(tracepoint_source),
                       .attributes = {}});
  return all;
}

namespace {

// libpfm, which knows the names of the CPUs' events. It is loaded when the first name is looked up:
// its tables have 300 pages of addresses, which a program that is linked with it relocates at each
// start and copies at each fork.
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
    "the modifiers 'u' (only user code) and 'k' (only kernel code), for example 'cycles:u'";

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
        fmt::format("'{}' must count user code, kernel code or both, but not guests of virtual "
                    "machines; to choose, use {}",
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
