// SPDX-License-Identifier: MIT
#include "counters/events/kernel_event.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace stab::counters {
namespace {

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
        fmt::format("the value of '{}/{}/' would have to be multiplied by {}, which stabd does not "
                    "do: measure the terms of the event, {}",
                    name_, event, one_line(*scale, 40), one_line(line_of(file).value_or(""), 200)));
  const std::string text = line_of(file).value_or("");
  const auto terms = terms_of(text);
  if (!terms)
    return fail(
        fmt::format("the event '{}/{}/' needs a value for '{}': measure the event's terms with "
                    "that value filled in: {}",
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
        "write an event of a device as DEVICE/TERM=NUMBER,.../; u or k may follow the last '/'");
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
    return wrong("only u (the program) and k (the kernel on its behalf) may follow the last '/'");
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

}  // namespace stab::counters
