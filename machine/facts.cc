// SPDX-License-Identifier: MIT
#include "machine/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

namespace stab::machine {
namespace {

using nlohmann::json;

json absent(const std::string& reason) {
  return {{"absent", reason}};
}
bool is_absent(const json& fact) {
  return fact.is_object() && fact.contains("absent");
}
std::string text_or(const json& fact, const std::string& other) {
  return fact.is_string() ? fact.get<std::string>() : other;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n\"";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// Parses lines such as "name : value" or "NAME=value". If a name occurs several times, the first
// one counts.
std::map<std::string, std::string> parse_pairs(std::string_view text, char separator) {
  std::map<std::string, std::string> pairs;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (const auto middle = line.find(separator); middle != std::string_view::npos)
      pairs.emplace(trimmed(line.substr(0, middle)), trimmed(line.substr(middle + 1)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pairs;
}

// The word in brackets, as in "always [madvise] never".
json bracketed(const json& fact) {
  const std::string text = text_or(fact, "");
  const auto open = text.find('[');
  const auto close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return fact;
  return text.substr(open + 1, close - open - 1);
}

class FactReader {
 public:
  explicit FactReader(std::string root) : root_(std::move(root)) {}

  json facts(const Topology& topology) {
    json facts = cpu();
    facts["aslr"] = file("/proc/sys/kernel/randomize_va_space");
    facts["distribution"] = named("/etc/os-release", '=', "PRETTY_NAME");
    facts["frequency"] = frequency();
    facts["host"] = file("/proc/sys/kernel/hostname");
    facts["isolated_cpus"] = file("/sys/devices/system/cpu/isolated");
    facts["kernel"] = file("/proc/sys/kernel/osrelease");
    facts["kernel_version"] = file("/proc/sys/kernel/version");
    facts["memory_mib"] = memory_mib();
    facts["mitigations"] = every_file("/sys/devices/system/cpu/vulnerabilities");
    facts["smt"] = file("/sys/devices/system/cpu/smt/control");
    facts["thp"] = bracketed(file("/sys/kernel/mm/transparent_hugepage/enabled"));
    facts["thp_defrag"] = bracketed(file("/sys/kernel/mm/transparent_hugepage/defrag"));
    const Counts counts = topology.counts();
    facts["topology"] = {{"cpus", counts.cpus},
                         {"cores", counts.cores},
                         {"packages", counts.packages},
                         {"numa_nodes", counts.numa_nodes}};
    return facts;
  }

 private:
  static constexpr std::size_t limit = 16 << 20;

  // The file's content without surrounding blanks.
  json file(const std::string& path) const {
    const auto content = read_file(root_ + path, limit);
    if (!content) return absent(content.error().message);
    return one_line(trimmed(*content), 500);
  }

  json named(const std::string& path, char separator, const std::string& name) const {
    return named_in(read_file(root_ + path, limit), path, separator, name);
  }

  static json named_in(const Result<std::string>& content, const std::string& path, char separator,
                       const std::string& name) {
    if (!content) return absent(content.error().message);
    const auto pairs = parse_pairs(*content, separator);
    const auto found = pairs.find(name);
    if (found == pairs.end()) return absent(fmt::format("{} has no {}", path, name));
    return one_line(found->second, 5000);
  }

  json cpu() const {
    // The kernel takes long to write this file if there are many CPUs.
    const std::string path = "/proc/cpuinfo";
    const auto content = read_file(root_ + path, limit);
    const auto from_cpuinfo = [&](const char* name) { return named_in(content, path, ':', name); };
    json hypervisor = from_cpuinfo("flags");
    if (!is_absent(hypervisor))
      hypervisor = (" " + hypervisor.get<std::string>() + " ").contains(" hypervisor ");
    return {{"cpu_model", from_cpuinfo("model name")},  {"cpu_vendor", from_cpuinfo("vendor_id")},
            {"cpu_family", from_cpuinfo("cpu family")}, {"cpu_model_number", from_cpuinfo("model")},
            {"cpu_stepping", from_cpuinfo("stepping")}, {"microcode", from_cpuinfo("microcode")},
            {"hypervisor", std::move(hypervisor)}};
  }

  // Rounded to 64 MiB, because the kernel's own share differs a little from boot to boot.
  json memory_mib() const {
    json total = named("/proc/meminfo", ':', "MemTotal");
    if (is_absent(total)) return total;
    const std::string text = total.get<std::string>();
    std::uint64_t kib = 0;
    std::from_chars(text.data(), text.data() + text.size(), kib);
    constexpr std::uint64_t grain = 64 << 10;
    return (kib + grain / 2) / grain * 64;
  }

  // The contents of all files in a directory, by name.
  json every_file(const std::string& directory) const {
    json entries = json::object();
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root_ + directory, error)) {
      const std::string name = entry.path().filename();
      entries[name] = file(fmt::format("{}/{}", directory, name));
    }
    return entries.empty() ? absent(fmt::format("{} has no entries", directory)) : entries;
  }

  // One setting of all CPUs: "performance", or "performance,powersave" if CPUs differ.
  json of_all_policies(const std::string& name) const {
    const std::string directory = "/sys/devices/system/cpu/cpufreq";
    std::set<std::string> values;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root_ + directory, error)) {
      const std::string policy = entry.path().filename();
      if (!policy.starts_with("policy")) continue;
      const json value = file(fmt::format("{}/{}/{}", directory, policy, name));
      if (value.is_string()) values.insert(value.get<std::string>());
    }
    if (values.empty())
      return absent(fmt::format("no policy folder in {} has a readable file {}", directory, name));
    return fmt::format("{}", fmt::join(values, ","));
  }

  json frequency() const {
    return {{"driver", of_all_policies("scaling_driver")},
            {"governor", of_all_policies("scaling_governor")},
            {"maximum_khz", of_all_policies("scaling_max_freq")},
            {"minimum_khz", of_all_policies("scaling_min_freq")},
            {"preference", of_all_policies("energy_performance_preference")},
            {"turbo", turbo()}};
  }

  json turbo() const {
    const json off = file("/sys/devices/system/cpu/intel_pstate/no_turbo");
    if (!is_absent(off)) return off == "0" ? "on" : "off";
    const json boost = file("/sys/devices/system/cpu/cpufreq/boost");
    if (!is_absent(boost)) return boost == "1" ? "on" : "off";
    return absent("neither intel_pstate/no_turbo nor cpufreq/boost exists");
  }

  std::string root_;
};

// The member of an object; null if there is none.
const json& member(const json& object, const char* name) {
  static const json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

// "AMD EPYC, 2 CPUs in 2 cores in 1 package"
std::string kind_of(const json& facts) {
  const json& topology = member(facts, "topology");
  const auto counted = [&](const char* name, std::string_view what) {
    const json& number = member(topology, name);
    const auto count = number.is_number_unsigned() ? number.get<std::uint64_t>() : 0;
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{}, {} in {} in {}", text_or(member(facts, "cpu_model"), "unknown CPU"),
                     counted("cpus", "CPU"), counted("cores", "core"),
                     counted("packages", "package"));
}

std::string host_of(const json& facts) {
  return text_or(member(facts, "host"), "unnamed");
}

// "lab: AMD EPYC, 2 CPUs in 2 cores in 1 package, 24 GiB"
std::string hardware_of(const json& facts) {
  std::string line = fmt::format("{}: {}", host_of(facts), kind_of(facts));
  if (const json& memory = member(facts, "memory_mib"); memory.is_number())
    line += fmt::format(", {:.3g} GiB", memory.get<double>() / 1024);
  return line;
}

// "lab: AMD EPYC, 2 CPUs in 2 cores in 1 package, 24 GiB, Linux 6.1, Debian 12, under a hypervisor"
std::string summary_of(const json& facts) {
  std::string line = hardware_of(facts);
  line += ", Linux " + text_or(facts["kernel"], "(unknown version)");
  if (facts["distribution"].is_string()) line += ", " + facts["distribution"].get<std::string>();
  if (facts["hypervisor"] == true) line += ", under a hypervisor";
  return one_line(line, 500);
}

// Anybody may have written the text, but our facts have few levels. Deeper parts are dropped.
json parsed(std::string_view facts_json) {
  constexpr int most_levels = 8;
  const auto is_near = [](int depth, json::parse_event_t, const json&) {
    return depth < most_levels;
  };
  return json::parse(facts_json, is_near, false);
}

bool is_line(const std::string& text) {
  return one_line(text, text.size()) == text;
}

bool has_only_lines(const json& value) {
  if (value.is_string()) return is_line(value.get_ref<const std::string&>());
  if (!value.is_object()) return !value.is_array();
  for (const auto& [name, inner] : value.items())
    if (!is_line(name) || !has_only_lines(inner)) return false;
  return true;
}

constexpr std::size_t longest_name = 200;

void add_facts(const json& value, const std::string& name, std::vector<Fact>& facts) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      add_facts(inner, one_line(name.empty() ? key : name + " " + key, longest_name), facts);
    return;
  }
  facts.push_back(
      {.name = name, .value = value.is_string() ? value.get<std::string>() : json_text(value)});
}

Facts with_key(const json& facts) {
  Facts made{.host = host_of(facts), .facts_json = json_text(facts)};
  made.key = sha256_hex(made.facts_json);
  made.kind = stored_facts(made.facts_json).kind;
  made.distribution = text_or(member(facts, "distribution"), "");
  return made;
}

}  // namespace

Facts read_facts(const Topology& topology, const std::string& root, const std::string& host) {
  json facts = FactReader(root).facts(topology);
  if (!host.empty()) facts["host"] = host;
  facts["summary"] = summary_of(facts);
  return with_key(facts);
}

Result<Facts> facts_in(const std::string& facts_json) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  constexpr std::size_t longest_host = 500;
  const json facts =
      facts_json.size() <= most_bytes ? parsed(facts_json) : json(json::value_t::discarded);
  if (!facts.is_object() || json_text(facts) != facts_json || !has_only_lines(facts))
    return fail("the facts about the machine are not in the format in which stabd writes them");
  if (host_of(facts).size() > longest_host) return fail("the machine's name is too long");
  return with_key(facts);
}

StoredFacts stored_facts(std::string_view facts_json) {
  StoredFacts stored;
  const json facts = parsed(facts_json);
  if (!facts.is_object()) return stored;
  stored.host = host_of(facts);
  stored.summary = text_or(member(facts, "summary"), "");
  if (member(facts, "topology").is_object()) {
    stored.hardware = one_line(hardware_of(facts), 500);
    stored.kind = one_line(kind_of(facts), 500);
  }
  stored.aslr = text_or(member(facts, "aslr"), "");
  add_facts(facts, "", stored.all);
  return stored;
}

}  // namespace stab::machine
