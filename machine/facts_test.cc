// SPDX-License-Identifier: MIT
#include "machine/facts.h"

#include <gmock/gmock.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/hash.h"

namespace stab::machine {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// A machine made of files, as a server with all knobs shows itself.
class FactsTest : public testing::Test {
 protected:
  FactsTest() {
    std::string name = testing::TempDir() + "stab-facts-XXXXXX";
    root_ = mkdtemp(name.data()) != nullptr ? name : "";
    put("/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
        "model name\t: Intel(R) Xeon(R) Gold 6330\nstepping\t: 6\nmicrocode\t: 0xd0003a5\n"
        "cpu MHz\t\t: 2000.000\nflags\t\t: fpu sse2 avx512f\n\n"
        "processor\t: 1\nmodel name\t: something else\n");
    put("/proc/meminfo", "MemTotal:       263976312 kB\nMemFree:        1 kB\n");
    put("/proc/sys/kernel/hostname", "lab7\n");
    put("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    put("/proc/sys/kernel/version", "#1 SMP Debian\n");
    put("/proc/sys/kernel/randomize_va_space", "2\n");
    put("/etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    put(cpu + "isolated", "\n");
    put(cpu + "smt/control", "on\n");
    put(cpu + "vulnerabilities/meltdown", "Not affected\n");
    put(cpu + "cpufreq/policy0/scaling_governor", "performance\n");
    put(cpu + "cpufreq/policy1/scaling_governor", "performance\n");
    put(cpu + "cpufreq/policy0/scaling_driver", "intel_pstate\n");
    put(cpu + "intel_pstate/no_turbo", "1\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  }
  ~FactsTest() override {
    std::error_code ignored;
    if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
  }

  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  Facts read() { return read_facts(*Topology::synthetic("Package:2 Core:28 PU:2"), root_); }
  json parsed() { return json::parse(read().facts_json); }
  std::string summary() { return stored_facts(read().facts_json).summary; }

  const std::string cpu = "/sys/devices/system/cpu/";
  std::string root_;
};

TEST_F(FactsTest, ReadsTheMachine) {
  const json facts = parsed();
  EXPECT_EQ(facts["host"], "lab7");
  EXPECT_EQ(facts["cpu_model"], "Intel(R) Xeon(R) Gold 6330");
  EXPECT_EQ(facts["cpu_vendor"], "GenuineIntel");
  EXPECT_EQ(facts["cpu_model_number"], "106");
  EXPECT_EQ(facts["microcode"], "0xd0003a5");
  EXPECT_EQ(facts["hypervisor"], false);
  EXPECT_EQ(facts["kernel"], "6.1.0-18-amd64");
  EXPECT_EQ(facts["distribution"], "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(facts["topology"],
            json::parse(R"({"cpus":112,"cores":56,"packages":2,"numa_nodes":1})"));
  EXPECT_EQ(facts["aslr"], "2");
  EXPECT_EQ(facts["thp"], "madvise");
  EXPECT_EQ(facts["smt"], "on");
  EXPECT_EQ(facts["isolated_cpus"], "");
  EXPECT_EQ(facts["mitigations"]["meltdown"], "Not affected");
  EXPECT_EQ(facts["frequency"]["governor"], "performance");
  EXPECT_EQ(facts["frequency"]["turbo"], "off");
}

TEST_F(FactsTest, SumsUpInOneLine) {
  EXPECT_EQ(summary(),
            "lab7: Intel(R) Xeon(R) Gold 6330, 112 CPUs in 56 cores in 2 packages, 252 GiB, "
            "Linux 6.1.0-18-amd64, Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(read().host, "lab7");
}

TEST_F(FactsTest, StoredFactsHaveTheHardwareWithoutTheSystem) {
  const StoredFacts stored = stored_facts(read().facts_json);
  EXPECT_EQ(stored.host, "lab7");
  EXPECT_EQ(read().kind, stored.kind);
  EXPECT_EQ(stored.aslr, "2");
  EXPECT_EQ(stored.hardware,
            "lab7: Intel(R) Xeon(R) Gold 6330, 112 CPUs in 56 cores in 2 packages, 252 GiB");
  put("/proc/sys/kernel/osrelease", "6.12.1, Linux 7\n");
  put("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n");
  EXPECT_NE(summary(), stored.summary);
  EXPECT_EQ(stored_facts(read().facts_json).hardware, stored.hardware);
  EXPECT_TRUE(stored.hardware.contains(": " + stored.kind)) << stored.kind;
  EXPECT_FALSE(stored.kind.contains("GiB"));
  put("/proc/sys/kernel/hostname", "lab8, Linux 1\n");
  EXPECT_EQ(stored_facts(read().facts_json).hardware, "lab8, Linux 1" + stored.hardware.substr(4));
}

TEST_F(FactsTest, StoredFactsAreAListForPeople) {
  const StoredFacts stored = stored_facts(
      R"({"a":"text","b":{"c":1.5,"d":{"absent":"no file"}},"e":true,"summary":"one line"})");
  std::vector<std::string> lines;
  for (const Fact& each : stored.all) lines.push_back(each.name + " = " + each.value);
  EXPECT_THAT(lines, ElementsAre("a = text", "b c = 1.5", "b d absent = no file", "e = true",
                                 "summary = one line"));
  EXPECT_EQ(stored.summary, "one line");
  EXPECT_EQ(stored.hardware, "") << "nothing is known about it";
}

// An archive may have any text.
TEST(StoredFacts, OfAStrangerDoNoHarm) {
  for (const char* text : {"", "{", "[]", "7", "null", R"({"summary":7})"}) {
    const StoredFacts stored = stored_facts(text);
    EXPECT_EQ(stored.summary, "") << text;
    EXPECT_EQ(stored.hardware, "") << text;
  }
  EXPECT_EQ(
      stored_facts(R"({"topology":{"cpus":-1,"cores":"x"},"host":[],"memory_mib":{}})").hardware,
      "unnamed: unknown CPU, 0 CPUs in 0 cores in 0 packages");
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\":";
  deep += "1" + std::string(200'000, '}');
  EXPECT_LT(stored_facts(R"({"summary":"s","deep":)" + deep + "}").all.size(), 10U);
  const std::string lists(200'000, '[');
  EXPECT_EQ(
      stored_facts(R"({"summary":"s","deep":)" + lists + std::string(200'000, ']') + "}").summary,
      "s");
  const std::string key(10'000, 'k');
  for (const Fact& each : stored_facts("{\"" + key + "\":{\"" + key + "\":1}}").all)
    EXPECT_LT(each.name.size(), 300U);
}

TEST_F(FactsTest, TheKeyIsTheDigestAndChangesWithAFact) {
  const Facts before = read();
  EXPECT_EQ(before.key, sha256_hex(before.facts_json));
  EXPECT_EQ(read().key, before.key);
  put(cpu + "cpufreq/policy1/scaling_governor", "powersave\n");
  EXPECT_NE(read().key, before.key);
  EXPECT_EQ(parsed()["frequency"]["governor"], "performance,powersave");
}

TEST_F(FactsTest, TheKeyIgnoresWhatChangesByItself) {
  const Facts before = read();
  put("/proc/meminfo", "MemTotal:       263976000 kB\nMemFree:        777 kB\n");
  EXPECT_EQ(read().key, before.key);
}

TEST_F(FactsTest, SaysWhyAFactIsAbsent) {
  const json facts = parsed();
  EXPECT_THAT(facts["thp_defrag"]["absent"], HasSubstr("No such file"));
  EXPECT_THAT(facts["frequency"]["preference"]["absent"],
              HasSubstr("has a readable file energy_performance_preference"));
}

TEST_F(FactsTest, SeesTheHypervisorAndBoost) {
  put("/proc/cpuinfo", "model name : AMD EPYC\nflags : fpu hypervisor lahf_lm\n");
  std::filesystem::remove(root_ + cpu + "intel_pstate/no_turbo");
  put(cpu + "cpufreq/boost", "1\n");
  EXPECT_EQ(parsed()["hypervisor"], true);
  EXPECT_EQ(parsed()["frequency"]["turbo"], "on");
  EXPECT_THAT(summary(), HasSubstr("under a hypervisor"));
}

TEST_F(FactsTest, AMachineThatShowsNothingStillHasFacts) {
  const auto topology = Topology::synthetic("PU:1");
  const Facts facts = read_facts(*topology, root_ + "/nothing");
  const json parsed = json::parse(facts.facts_json);
  for (const char* name : {"host", "cpu_model", "hypervisor", "memory_mib", "mitigations", "smt"})
    EXPECT_TRUE(parsed[name].contains("absent")) << name;
  EXPECT_THAT(facts.kind, HasSubstr("unknown CPU, 1 CPU in 1 core in 1 package"));
}

TEST_F(FactsTest, BrokenTextDoesNoHarm) {
  put("/proc/sys/kernel/hostname",
      "a\xff\x01"
      "b");
  EXPECT_EQ(read().host, "a? b");
  put("/sys/kernel/mm/transparent_hugepage/enabled", "] what [");
  EXPECT_EQ(parsed()["thp"], "] what [");
}

TEST_F(FactsTest, OfSomebodyElseHaveTheirKeyAndHostFromTheirText) {
  const Facts facts = read();
  const auto same = facts_in(facts.facts_json);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->key, facts.key);
  EXPECT_EQ(same->host, facts.host);
  EXPECT_EQ(same->kind, facts.kind);
  EXPECT_EQ(facts_in("{}")->kind, "") << "nothing is known about it";
  EXPECT_EQ(facts_in("{}")->host, "unnamed");
  const std::string long_host(1000, 'h');
  const std::string deep = R"({"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}})";
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{} "), std::string(R"({"b":1,"a":2})"),
        std::string(R"({"a":1,"a":2})"), std::string("{\"host\":\"a\\u001b[2J\"}"),
        std::string("{\"host\":\"a\x7f\"}"), std::string("{\"host\":\"a\xff\"}"),
        std::string("{\"a\\nb\":1}"), std::string(R"({"a":["x"]})"),
        "{\"host\":\"" + long_host + "\"}", deep,
        "{\"a\":\"" + std::string(std::size_t{2} << 20, 'a') + "\"}"})
    EXPECT_FALSE(facts_in(text)) << text.substr(0, 100);
}

TEST(ThisMachinesFacts, AgreeWithTheKernelAndStayTheSame) {
  const auto topology = Topology::load();
  ASSERT_TRUE(topology);
  const Facts facts = read_facts(*topology);
  struct utsname kernel{};
  ASSERT_EQ(uname(&kernel), 0);
  const json parsed = json::parse(facts.facts_json);
  EXPECT_EQ(facts.host, kernel.nodename);
  EXPECT_EQ(parsed["kernel"], kernel.release);
  EXPECT_GT(parsed["memory_mib"], 0);
  EXPECT_EQ(read_facts(*topology).key, facts.key);
  EXPECT_EQ(stored_facts(facts.facts_json).summary.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace stab::machine
