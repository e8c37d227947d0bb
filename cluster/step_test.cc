// SPDX-License-Identifier: MIT
// How a step is started, and how the cluster's words about its job are read.
#include <gmock/gmock.h>

#include "cluster/slurm.h"
#include "protocol/codec.h"

namespace stab::cluster {
namespace {

using protocol::Loss;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Step, TheCommandHasWhatThePlanSays) {
  const plan::Machines machines{.names = {"n1", "n2"},
                                .partition = "lab",
                                .account = "a",
                                .qos = "q",
                                .constraint = "c&d",
                                .reservation = "r",
                                .time_limit = std::chrono::seconds(61)};
  StepStart step = step_on(machines);
  step.program = "/bin/stabd";
  step.name = "stabd-x";
  step.silence_ms = 5;
  const auto words = step_command(step);
  for (const char* word : {"--job-name=stabd-x", "--nodelist=n1,n2", "--partition=lab",
                           "--account=a", "--qos=q", "--constraint=c&d", "--reservation=r",
                           "--time=2", "--export=NONE", "--exclusive", "--mem=0", "/bin/stabd"})
    EXPECT_THAT(words, Contains(word));
  const auto node = protocol::from_text<NodeStart>(words.back());
  ASSERT_TRUE(node);
  EXPECT_EQ(node->silence_ms, 5);
}

TEST(Step, AllCommandsOfAnExperimentAreKnownBeforehand) {
  plan::Plan plan;
  plan::Machines& machines = plan.machines.emplace();
  machines.nodes = 2;
  machines.names = {"n1", "n2"};
  machines.drain = true;
  auto commands = slurm_commands(plan, "/bin/stabd", false);
  ASSERT_EQ(commands.size(), 4U);
  EXPECT_EQ(commands[0].words, list_jobs());
  EXPECT_THAT(commands[1].words, Contains("--nodelist=n1"));
  EXPECT_THAT(commands[2].words, Contains("--nodelist=n2"));
  EXPECT_THAT(commands[2].words, Contains("--job-name=" + job_name("DATABASE", 1)));
  EXPECT_THAT(commands[3].words, Contains("state=drain"));
  machines = {};
  machines.nodes = 3;
  commands = slurm_commands(plan, "/bin/stabd", false);
  ASSERT_EQ(commands.size(), 4U);
  EXPECT_THAT(commands[1].words, Not(Contains(StartsWith("--exclude"))));
  EXPECT_THAT(commands[3].words, Contains("--exclude=OTHER_NODES"));
  EXPECT_EQ(commands[3].when, "Node 3 of 3: allocate it, and run the experiment's worker on it");
}

TEST(Step, TheCommentSaysWhichKnobsThePrologMaySet) {
  plan::Plan plan;
  plan.cpus = 2;
  plan.quiesce = plan::Quiesce::strict;
  plan.knobs = {"ksm", "cpu_dma_latency", "swappiness"};
  EXPECT_EQ(job_comment(plan, "7", "a b"), "experiment 7: a b") << "the plan has no nodes";
  plan.machines.emplace();
  // Nothing but stabd itself can hold cpu_dma_latency's file open.
  EXPECT_EQ(job_comment(plan, "7", "a\nb"),
            "experiment 7, quiet node (2 CPUs: ksm,swappiness): a b");
  EXPECT_THAT(slurm_commands(plan, "/bin/stabd", false)[1].words,
              Contains("--comment=experiment NUMBER, quiet node (2 CPUs: ksm,swappiness): NAME"));
  plan.knobs = {"cpu_dma_latency"};
  EXPECT_EQ(job_comment(plan, "7", "a"), "experiment 7: a");
  plan.knobs.clear();
  EXPECT_THAT(job_comment(plan, "7", "a"), AllOf(HasSubstr("governor,"), Not(HasSubstr("aslr"))));
  plan.quiesce = plan::Quiesce::off;
  EXPECT_EQ(job_comment(plan, "7", "a"), "experiment 7: a");
}

TEST(Step, TheCommandLeavesOutWhatThePlanDoesNotSay) {
  for (const char* option : {"--partition", "--account", "--qos", "--constraint", "--reservation",
                             "--time", "--nodelist"})
    EXPECT_THAT(step_command(step_on({})), Not(Contains(StartsWith(option))));
}

TEST(Step, TheCommandExcludesOtherNodes) {
  StepStart step = step_on({});
  step.others = {"n1", "n3"};
  EXPECT_THAT(step_command(step), Contains("--exclude=n1,n3"));
}

TEST(Step, AStepHasItsOwnJobsAndTheFreeingHasAll) {
  const std::string jobs = "7 stabd-h-a\n8 stabd-h-a-1\n9 stabd-h-a-12\n10 stabd-h-b\n11 other";
  StepStart step;
  step.name = "stabd-h-a";
  step.machines = 20;
  EXPECT_THAT(jobs_named(jobs, step), ElementsAre("7"));
  step.machines = 2;  // jobs of further places are left from an earlier experiment
  EXPECT_THAT(jobs_named(jobs, step), ElementsAre("7", "9"));
  step.only_frees = true;
  EXPECT_THAT(jobs_named(jobs, step), ElementsAre("7", "8", "9"));
  step = {.name = "stabd-h-a-1"};
  EXPECT_THAT(jobs_named(jobs, step), ElementsAre("8"));
  EXPECT_THAT(jobs_named("", step), IsEmpty());
}

TEST(Step, AStepIsPassedOnAsJson) {
  plan::Machines machines;
  machines.names = {"n"};
  machines.partition = "p";
  StepStart step = step_on(machines);
  step.name = "'\"\n";
  step.network = false;
  const auto read = protocol::from_text<StepStart>(protocol::to_text(step, -1));
  ASSERT_TRUE(read);
  EXPECT_EQ(step_command(*read), step_command(step));
}

TEST(Step, AJobsStateSaysWhyItIsLost) {
  const auto loss = [](const std::string& state) {
    return loss_of(job_words("JobId=7 JobName=x JobState=" + state +
                             " Reason=None Requeue=0 Restarts=0 ExitCode=0:0"));
  };
  EXPECT_EQ(loss("NODE_FAIL"), Loss::node_lost);
  EXPECT_EQ(loss("PREEMPTED"), Loss::preempted);
  EXPECT_EQ(loss("TIMEOUT"), Loss::time_limit);
  EXPECT_EQ(loss("CANCELLED"), Loss::cancelled);
  EXPECT_EQ(loss("PENDING"), Loss::requeued);
  EXPECT_EQ(loss("RUNNING"), Loss::step_lost);
  EXPECT_EQ(loss("FAILED"), Loss::step_lost);
  EXPECT_EQ(loss_of(job_words("JobState=RUNNING Restarts=1")), Loss::requeued);
  EXPECT_EQ(loss_of(job_words("")), Loss::controller_away);
}

TEST(Step, WordsThatAUserChoseDoNotReplaceTheState) {
  const JobWords job = job_words("JobState=TIMEOUT Reason=None Comment=x JobState=PREEMPTED");
  EXPECT_EQ(job.state, "TIMEOUT");
  EXPECT_EQ(job.reason, "None");
}

TEST(Step, EveryLossHasANameAndASentence) {
  for (int i = 0; i <= static_cast<int>(Loss::step_lost); ++i) {
    const auto loss = static_cast<Loss>(i);
    EXPECT_EQ(protocol::loss_named(to_string(loss)), loss);
    EXPECT_THAT(sentence_of(loss, "n1", "7", "the detail"), HasSubstr("the detail"));
  }
  EXPECT_EQ(protocol::loss_named("anything"), Loss::step_lost);
  EXPECT_THAT(sentence_of(Loss::time_limit, "n1", "7", ""),
              HasSubstr("longer machines.time_limit"));
}

// Whatever the silence is: the node notices it, and then ends the worker.
TEST(Step, ATrialsLongestLifeIncludesTheTimeThatItsEndTakes) {
  for (const std::chrono::milliseconds silence : {std::chrono::milliseconds(100), node_silence})
    EXPECT_GE(longest_life(silence), silence + beat_of(silence) + std::chrono::seconds(12))
        << silence.count();
}

TEST(Step, OnlyWhatSlurmSaysIsAnError) {
  EXPECT_EQ(errors_in("a worker ends: x\nsrun: error: invalid partition specified: p\n"
                      "srun: error: Unable to allocate resources: Invalid partition\n"),
            "invalid partition specified: p; Unable to allocate resources: Invalid partition");
  EXPECT_EQ(errors_in("slurmstepd-n1: error: execve(): /x: No such file\n"),
            "execve(): /x: No such file");
  EXPECT_EQ(errors_in("salloc: error: Job submit/allocate failed: Requested node is down\n"),
            "Job submit/allocate failed: Requested node is down");
  EXPECT_EQ(errors_in(""), "");
}

}  // namespace
}  // namespace stab::cluster
