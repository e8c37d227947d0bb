// SPDX-License-Identifier: MIT
// Settings as Slurm 22.05 prints them, and the findings about each.
#include "cluster/settings.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace stab::cluster {
namespace {

using machine::Finding;
using machine::Grade;
using ::testing::HasSubstr;

const std::string quiet_config =
    "Configuration data as of 2026-11-29T00:00:00\n"
    "AcctGatherEnergyType    = acct_gather_energy/none\n"
    "AcctGatherNodeFreq      = 0 sec\n"
    "AllowSpecResourcesUsage = No\n"
    "Epilog                  = (null)\n"
    "HealthCheckInterval     = 0 sec\n"
    "HealthCheckNodeState    = ANY\n"
    "HealthCheckProgram      = (null)\n"
    "JobAcctGatherFrequency  = 30\n"
    "JobAcctGatherType       = jobacct_gather/none\n"
    "ProctrackType           = proctrack/cgroup\n"
    "Prolog                  = (null)\n"
    "\nSlurmctld(primary) at head is UP\n";
const std::string quiet_node =
    "NodeName=n1 Arch=x86_64 CPUAlloc=0 CPUTot=8 CoreSpecCount=1 CPUSpecList=0-1 OS=Linux "
    "6.1.0-18 #1 SMP State=IDLE ThreadsPerCore=2 Partitions=lab";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string config_with(const std::string& name, const std::string& value) {
  const std::size_t at = quiet_config.find(name + ' ');
  EXPECT_NE(at, std::string::npos) << name;
  const std::size_t from = quiet_config.find("= ", at) + 2;
  return std::string(quiet_config).replace(from, quiet_config.find('\n', from) - from, value);
}
Finding finding(const std::string& name, const std::string& config,
                const std::string& nodes = quiet_node) {
  for (const Finding& each : findings_in(config, nodes))
    if (each.name == name) return each;
  ADD_FAILURE() << name;
  return {};
}

TEST(ClusterSettings, AQuietClusterIsGood) {
  for (const Finding& each : findings_in(quiet_config, quiet_node))
    EXPECT_EQ(each.grade, Grade::good) << each.name << ": " << each.found;
}

TEST(ClusterSettings, EachSourceOfNoiseHasTheLineThatMendsIt) {
  const std::string gathers = config_with("JobAcctGatherType", "jobacct_gather/linux");
  Finding found = finding("samples", gathers);
  EXPECT_EQ(found.grade, Grade::fair);
  EXPECT_EQ(found.mend, "slurm.conf: JobAcctGatherFrequency=0");
  for (const char* none : {"0", "task=0,energy=30", "energy=30"})
    EXPECT_EQ(finding("samples", with(gathers, "= 30", std::string("= ") + none)).grade,
              Grade::good)
        << none;
  EXPECT_EQ(finding("samples", with(gathers, "= 30", "= energy=0,task=15")).grade, Grade::fair);

  const std::string energy =
      with(config_with("AcctGatherEnergyType", "acct_gather_energy/rapl"), "= 0 sec", "= 30 sec");
  EXPECT_EQ(finding("energy", energy).mend, "slurm.conf: AcctGatherNodeFreq=0");

  const std::string checks = with(config_with("HealthCheckProgram", "/usr/sbin/nhc"),
                                  "HealthCheckInterval     = 0", "HealthCheckInterval     = 300");
  found = finding("health checks", checks);
  EXPECT_EQ(found.grade, Grade::poor);
  EXPECT_THAT(found.meaning, HasSubstr("on all nodes at once"));
  EXPECT_EQ(found.mend, "slurm.conf: HealthCheckNodeState=IDLE");
  EXPECT_EQ(finding("health checks", with(checks, "= ANY", "= IDLE")).grade, Grade::good);
  EXPECT_EQ(finding("health checks", with(checks, "= ANY", "= CYCLE,ANY")).meaning,
            "the health check runs beside trials");

  found = finding("reserved cores", quiet_config,
                  with(quiet_node, "CoreSpecCount=1 CPUSpecList=0-1 ", ""));
  EXPECT_THAT(found.found, HasSubstr("none on n1, and a job's --core-spec is ignored"));
  EXPECT_THAT(found.mend, HasSubstr("CoreSpecCount=1"));
  EXPECT_THAT(found.mend, HasSubstr("AllowSpecResourcesUsage=YES"));

  EXPECT_EQ(finding("processes", config_with("ProctrackType", "proctrack/linuxproc")).mend,
            "slurm.conf: ProctrackType=proctrack/cgroup");
  found = finding("epilogs", config_with("Epilog", "/etc/slurm/epilog"));
  EXPECT_EQ(found.grade, Grade::fair);
  EXPECT_THAT(found.found,
              HasSubstr("Epilog=/etc/slurm/epilog: Slurm runs these programs before or after"));
  EXPECT_THAT(found.mend, HasSubstr("slurm.conf: leave out Epilog=/etc/slurm/epilog, or"));
  EXPECT_EQ(finding("epilogs", config_with("Epilog", "/usr/share/stabd/slurm/quiet-node")).grade,
            Grade::good);
}

TEST(ClusterSettings, TooFewNodesAreCounted) {
  using States = std::map<std::string, std::string>;
  const States nodes{{"n1", "IDLE"}, {"n2", "MIXED"}, {"n3", "IDLE+DRAIN (the disk is full)"}};
  EXPECT_EQ(shortage_in(nodes, 2, ""), "");
  EXPECT_EQ(shortage_in(nodes, 4, "lab"),
            "the plan asks for 4 nodes, but the partition lab has only 3: lower 'nodes' in "
            "[machines]");
  EXPECT_THAT(
      shortage_in(nodes, 3, ""),
      HasSubstr(
          "asks for 3 nodes, but only 2 of 3 in the cluster's default partition can run jobs now"));
  EXPECT_THAT(shortage_in({{"n3", "DOWN*"}}, 1, ""), ::testing::EndsWith("wait for more"));
  EXPECT_THAT(shortage_in({}, 1, "lab"), HasSubstr("the partition lab has no nodes"));
}

TEST(ClusterSettings, FromARangeAPlanGetsTheNodesThatAreIdle) {
  const std::map<std::string, std::string> nodes{
      {"n1", "IDLE"},  {"n2", "IDLE+CLOUD (as new)"},
      {"n3", "MIXED"}, {"n4", "IDLE+DRAIN (the disk is full)"},
      {"n5", "IDLE"},  {"n6", "DOWN*"}};
  EXPECT_EQ(nodes_for(nodes, 1, 6), 3U);
  EXPECT_EQ(nodes_for(nodes, 1, 2), 2U);
  EXPECT_EQ(nodes_for(nodes, 4, 6), 4U) << "one of them has to be waited for";
}

TEST(ClusterSettings, AnyPartitionOfThePlanCounts) {
  const std::string nodes = quiet_node + "\nNodeName=n2 State=MIXED Partitions=lab,long\n" +
                            "NodeName=n3 State=IDLE Partitions=urgent\n";
  const auto names = [&](const char* partition) {
    std::string all;
    for (const auto& [name, state] : states_in(nodes, partition)) all += name;
    return all;
  };
  EXPECT_EQ(names("lab"), "n1n2");
  EXPECT_EQ(names("long,urgent"), "n2n3");
  EXPECT_EQ(names("lon"), "");
  EXPECT_EQ(names(""), "n1n2n3");
}

TEST(ClusterSettings, APartitionsTimeLimitIsItsDefaultOrItsMaximum) {
  const std::string partitions =
      "PartitionName=lab AllowGroups=ALL Default=YES QoS=N/A DefaultTime=NONE MaxTime=01:00:00\n"
      "PartitionName=long AllowGroups=ALL Default=NO DefaultTime=02:00:00 MaxTime=UNLIMITED\n";
  EXPECT_EQ(time_limit_in(partitions, ""), "01:00:00");
  EXPECT_EQ(time_limit_in(partitions, "lab"), "01:00:00");
  EXPECT_EQ(time_limit_in(partitions, "long"), "02:00:00");
  EXPECT_EQ(time_limit_in(partitions, "none"), "");
  EXPECT_EQ(time_limit_in(partitions, "none,long"), "02:00:00");
  EXPECT_EQ(time_limit_in(partitions, "long,lab"), "01:00:00 or 02:00:00");
  EXPECT_EQ(default_partition_in(partitions), "lab");
  EXPECT_EQ(default_partition_in(""), "");
}

TEST(ClusterSettings, PlansMakeNodesQuietIfSlurmRunsOurProgramBeforeAndAfterJobs) {
  const std::string program = "/usr/share/stabd/slurm/quiet-node";
  const std::string before = config_with("Prolog", program);
  EXPECT_THAT(finding("quiet nodes", before).found, HasSubstr("does not make its nodes quiet"));
  EXPECT_EQ(finding("quiet nodes", with(before, "(null)\nHealth", program + "\nHealth")).found,
            "a plan with machine.quiesce makes its nodes quiet");
}

TEST(ClusterSettings, NodesThatAreAwayOrDifferAreNamed) {
  const std::string drained = with(with(quiet_node, "n1", "n2"), "State=IDLE", "State=IDLE+DRAIN") +
                              " Reason=disk is full: free=0 State=bad Comment=none";
  Finding found = finding("nodes", quiet_config, quiet_node + "\n" + drained + "\n");
  EXPECT_EQ(found.grade, Grade::fair);
  EXPECT_THAT(found.found, HasSubstr("2 nodes; n2 is IDLE+DRAIN (disk is full: free=0 State=bad)"));
  EXPECT_EQ(finding("kinds", quiet_config, quiet_node + "\n" + drained + "\n").grade, Grade::good);
  found = finding("nodes", quiet_config, with(quiet_node, "State=IDLE", "State=DOWN*"));
  EXPECT_EQ(found.grade, Grade::poor);
  found = finding("kinds", quiet_config,
                  quiet_node + "\n" + with(with(quiet_node, "n1", "n2"), "CPUTot=8", "CPUTot=4"));
  EXPECT_THAT(found.found, HasSubstr("2: 4 CPUs"));
  EXPECT_EQ(finding("nodes", quiet_config, "").grade, Grade::poor);
  EXPECT_EQ(states_in(quiet_node + "\n" + drained + "\n"),
            (std::map<std::string, std::string>{
                {"n1", "IDLE"}, {"n2", "IDLE+DRAIN (disk is full: free=0 State=bad)"}}));
}

// A setting that the output lacks is not taken for quiet.
TEST(ClusterSettings, WhatIsNotKnownIsNotGood) {
  for (const Finding& each : findings_in("", ""))
    if (each.name != "epilogs" && each.name != "quiet nodes")
      EXPECT_NE(each.grade, Grade::good) << each.name;
}

}  // namespace
}  // namespace stab::cluster
