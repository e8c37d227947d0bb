// SPDX-License-Identifier: MIT
// All keys of a plan, in the order in which messages list the keys of a table, and the functions
// that read a key by its path in this list. `stabctl keys` prints the list as the table in
// doc/plans.md.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "design/fractional.h"
#include "plan/measures/names.h"
#include "plan/plan.h"
#include "plan/texts.h"
#include "toml/keys.h"

namespace stab::plan {

using toml::Bytes;
using toml::Choice;
using toml::Choices;
using toml::Count;
using toml::CountWith;
using toml::Duration;
using toml::Flag;
using toml::Key;
using toml::KeyWords;
using toml::Number;
using toml::Other;
using toml::Path;
using toml::Percentage;
using toml::Seed;
using toml::Several;
using toml::Text;
using toml::Texts;

namespace words {
inline constexpr std::array<std::string_view, 2> on_build_failure{"fail-benchmark",
                                                                  "fail-experiment"};
inline constexpr std::array kinds{
    to_string(DesignKind::one_way),        to_string(DesignKind::within_subjects),
    to_string(DesignKind::full_factorial), to_string(DesignKind::nested),
    to_string(DesignKind::custom),         to_string(DesignKind::fractional),
    to_string(DesignKind::calibration),    to_string(DesignKind::padding_study),
    to_string(DesignKind::causal)};
inline constexpr std::array<std::string_view, 1> orders{"randomized-blocks"};
inline constexpr std::array rules{to_string(StopRule::precision), to_string(StopRule::sequential)};
inline constexpr std::array<std::string_view, 2> on_absent{"record", "refuse"};
inline constexpr std::array quiesce{to_string(Quiesce::off), to_string(Quiesce::best_effort),
                                    to_string(Quiesce::strict)};
// The knobs of machine/quiet/knobs.cc, in the same order.
inline constexpr std::array<std::string_view, 17> knobs{"governor",       "energy_preference",
                                                        "boost",          "smt",
                                                        "idle_states",    "cpu_dma_latency",
                                                        "irq_affinity",   "timer_migration",
                                                        "nmi_watchdog",   "numa_balancing",
                                                        "khugepaged",     "thp",
                                                        "compaction",     "ksm",
                                                        "swappiness",     "aslr",
                                                        "other_processes"};
inline constexpr std::array<std::string_view, 8> responses{
    "wall", "user", "system", "cpu", "relative_cpu", "max_rss", "main_to_exit", "region"};
inline constexpr std::array of_builds{code_size, compile_time};
inline constexpr std::array<std::string_view, 2> methods{"standard", "stabilizer"};
inline constexpr std::array<std::string_view, 2> errors{"own", "pooled"};
inline constexpr std::array<std::string_view, 3> estimands{"mean", "typical", "median"};
inline constexpr std::array<std::string_view, 3> losses{"extremes", "monotone", "random"};
inline constexpr std::array<std::string_view, 2> programs{"these", "like-these"};
inline constexpr std::array<std::string_view, 2> pairs{"baseline", "all"};
inline constexpr std::array picks{to_string(Pick::only), to_string(Pick::first),
                                  to_string(Pick::last), to_string(Pick::mean),
                                  to_string(Pick::sum),  to_string(Pick::samples)};
inline constexpr std::array<std::string_view, 2> streams{"stdout", "stderr"};
inline constexpr std::array<std::string_view, 2> directions{"lower", "higher"};
inline constexpr std::array<std::string_view, 1> per{"block"};
inline constexpr std::array<std::string_view, 1> engines{"slurm"};
inline constexpr std::array<std::string_view, 1> layers{"layer"};
}  // namespace words

inline constexpr std::size_t max_counters = 64;  // including events that take turns
inline constexpr std::size_t least_sets = 2;
inline constexpr std::size_t max_sets = 16;
inline constexpr std::size_t max_responses = 16;
inline constexpr std::size_t max_measures = 64;  // of outputs, and the same number of derived ones
inline constexpr std::string_view response_words =
    "`\"wall\"`, `\"user\"`, `\"system\"`, `\"cpu\"`, `\"relative_cpu\"`, `\"max_rss\"`, "
    "`\"main_to_exit\"`, `\"region\"`, `\"region-NAME-ns\"`, `\"region-NAME-count\"`, "
    "`\"code-size\"`, "
    "`\"compile-time\"`, an event of `measure.counters` "
    "or "
    "`measure.rotate`, a count of `measure.simulate`, or the name of a measure";
inline constexpr std::uint32_t max_repeats = 100'000;
inline constexpr std::uint64_t max_output = std::uint64_t{1} << 30;
inline constexpr std::uint64_t max_memory = std::uint64_t{1} << 50;
inline constexpr std::chrono::nanoseconds max_arrival_speedup = std::chrono::seconds(10);
inline constexpr std::uint32_t max_env_bytes = std::uint32_t{1} << 20;
inline constexpr std::uint32_t max_blocks = 1'000'000;
inline constexpr std::uint32_t default_clang = 22;  // the version that szc calls by default
inline constexpr std::uint32_t earlier_clang = 19;  // in stored plans that don't name one
inline constexpr std::uint32_t max_clang = 999;

inline constexpr Key keys[] = {
    {"experiment.name", Text{is_title, title_rule}, "the name of the experiment", "required"},
    {"experiment.seed", Seed{0, std::numeric_limits<std::int64_t>::max(), 1},
     "the seed of all random choices"},
    {"experiment.question", Text{is_question, question_rule},
     "the question of the experiment, which reports show with the answer"},
    {"experiment.privileges", Flag{false},
     "only in root's plans: whether builds and trials keep root's capabilities and may gain "
     "privileges"},
    {"experiment.network", Flag{true},
     "whether builds and trials use the machine's network; if `false`, they have only a loopback "
     "device of their own"},
    {"experiment.notify", Texts{is_filled_word, filled_word_rule},
     "a program and its arguments; stabd runs this program, with JSON on its stdin, when the "
     "experiment ends or has a problem",
     "none"},

    {"variables.NAME", Text{is_word, word_rule}, "the value of `${NAME}`"},
    {"variables.CC", Text{is_word, word_rule, "clang-22"}, "the C compiler"},
    {"variables.CXX", Text{is_word, word_rule, "clang++-22"}, "the C++ compiler"},
    {"variables.CFLAGS", Text{is_word, word_rule, ""}, "options for the C compiler"},
    {"variables.CXXFLAGS", Text{is_word, word_rule, ""}, "options for the C++ compiler"},
    {"variables.LDFLAGS", Text{is_word, word_rule, ""},
     "options for the linker; some factors add further options"},

    {"defaults.repetitions", Count{1, max_repeats, 30},
     "the number of measured blocks; not allowed with `design.stop`"},
    {"defaults.timeout", Duration{std::chrono::minutes(1)},
     "how long a trial's program and each of its `prepare`, `check` and `cleanup` commands may "
     "run; a trial that takes longer is ended and fails"},
    {"defaults.build_timeout", Duration{std::chrono::minutes(30)},
     "how long a build may take; a build that takes longer is ended and fails"},
    {"defaults.output_limit", Bytes{max_output, std::uint64_t{16} << 20},
     "how many bytes a trial may write to each of stdout and stderr"},
    {"defaults.memory_limit", Bytes{max_memory},
     "how much memory all processes of a trial may use together; a trial that uses more fails",
     "none"},
    {"defaults.cpu_limit", Duration{},
     "how much CPU time all processes of a trial may use together", "none"},
    {"defaults.process_limit", Count{1, 1'000'000}, "how many processes a trial may have at once",
     "none"},
    {"defaults.file_limit", Bytes{max_memory},
     "the largest allowed size of each file that a trial writes", "none"},
    {"defaults.warmup", Count{0, 1000, 0},
     "the number of warm-up blocks, which run first and are not analyzed"},
    {"defaults.retries", Count{0, 10, 0}, "how many more attempts a failed trial gets"},
    {"defaults.give_up_after", Count{0, 1000, 5},
     "after this many failed trials in a row, the benchmark's remaining trials are skipped; with "
     "0, they are never skipped"},
    {"defaults.exclude_repeats", Count{0, 10, 1},
     "if a trial matches an `exclude` rule, how many more attempts it gets at the end of its "
     "block"},
    {"defaults.on_build_failure", Choice{words::on_build_failure, "fail-benchmark"},
     "whether a failed build ends only its benchmark or the whole experiment"},

    {"benchmark.name", Text{is_name, name_rule}, "a name that no other benchmark of the plan has",
     "required"},
    {"benchmark.build", Text{is_filled_word, filled_word_rule},
     "a command for `/bin/sh` that writes `${OUT}`; it runs in a private copy of the sources",
     "without `build`, `run` names an existing program"},
    {"benchmark.run", Texts{is_word, word_rule},
     "the program and its arguments; no shell is involved", "required"},
    {"benchmark.env.NAME", Text{is_word, word_rule},
     "the value of the environment variable `NAME`"},
    {"benchmark.stdin", Text{is_filled_word, filled_word_rule},
     "the file that the program reads as its stdin", "`/dev/null`"},
    {"benchmark.beside", Texts{is_word, word_rule},
     "a command that runs beside each trial: at the same time, on the same CPUs, with the same "
     "stdin; the response `relative_cpu` is the trial's CPU time divided by this command's CPU "
     "time",
     "none"},
    {"benchmark.prepare", Text{is_filled_word, filled_word_rule},
     "a command for `/bin/sh` that runs before each trial and is not measured"},
    {"benchmark.cleanup", Text{is_filled_word, filled_word_rule},
     "a command for `/bin/sh` that runs after each trial and is not measured"},
    {"benchmark.sources", Texts{is_relative_path, relative_path_rule},
     "the files and folders that the build reads", "the plan's folder"},
    {"benchmark.check.exit", Other{"0 to 255, or an array of such numbers"},
     "the exit codes of successful trials", "0"},
    {"benchmark.check.stdout_sha256", Text{is_sha256, sha256_rule},
     "the SHA-256 digest that the trial's stdout must have"},
    {"benchmark.check.stdout_file", Text{is_relative_path, relative_path_rule},
     "the file with the expected stdout of the trial"},
    {"benchmark.check.command", Text{is_filled_word, filled_word_rule},
     "a command for `/bin/sh` that reads the trial's stdout on its stdin and exits with 0 if the "
     "output is right"},
    {"benchmark.repetitions", Count{1, max_repeats},
     "replaces `defaults.repetitions` for this benchmark", "`defaults.repetitions`"},
    {"benchmark.timeout", Duration{}, "replaces `defaults.timeout` for this benchmark",
     "`defaults.timeout`"},
    {"benchmark.build_timeout", Duration{}, "replaces `defaults.build_timeout` for this benchmark",
     "`defaults.build_timeout`"},
    {"benchmark.output_limit", Bytes{max_output},
     "replaces `defaults.output_limit` for this benchmark", "`defaults.output_limit`"},
    {"benchmark.memory_limit", Bytes{max_memory},
     "replaces `defaults.memory_limit` for this benchmark", "`defaults.memory_limit`"},
    {"benchmark.cpu_limit", Duration{}, "replaces `defaults.cpu_limit` for this benchmark",
     "`defaults.cpu_limit`"},
    {"benchmark.process_limit", Count{1, 1'000'000},
     "replaces `defaults.process_limit` for this benchmark", "`defaults.process_limit`"},
    {"benchmark.file_limit", Bytes{max_memory}, "replaces `defaults.file_limit` for this benchmark",
     "`defaults.file_limit`"},

    {"factor.NAME.levels", Other{"a table, or an array for built-in factors"},
     "for your own factor, `{ LEVEL = { VARIABLE = \"text\" } }`; for a built-in factor, a list of "
     "values",
     "required without `revisions` or `random`"},
    {"factor.NAME.revisions",
     Other{"an array of 2 to 100 git revisions, or `{ LEVEL = \"revision\" }`"},
     "each level is built from the files of its git revision; `\".\"` is the working tree", "none"},
    {"factor.NAME.random.per", Choice{words::per}, "all cells of a block share one random value"},
    {"factor.NAME.random.seeds", Count{2, max_repeats}, "the number of seeds that each cell gets",
     "required without `per`"},
    {"factor.NAME.random.runs", Count{1, max_repeats}, "how often each seed runs",
     "required without `per`"},
    {"factor.env_bytes.random.min", Count{0, max_env_bytes, 0},
     "the smallest number of bytes that stabd may choose at random"},
    {"factor.env_bytes.random.max", Count{0, max_env_bytes, 4096},
     "the largest number of bytes that stabd may choose at random"},

    {"randomize.OPTION", Other{"a value that is allowed as a level of the factor OPTION"},
     "an option of szc's runtime that is the same in all trials (\"Random layouts\")",
     "the runtime's default"},

    {"by_default.clang", Count{1, max_clang, earlier_clang},
     "the version of clang in `variables.CC` and `variables.CXX` if the plan does not set them; if "
     "a plan builds a program without setting both, `stabctl` sets this key to 22 in the stored "
     "plan"},
    {"by_default.heap", Choice{words::layers},
     "for each benchmark, test runs before the first trial decide whether its trials run with the "
     "heap layer; if a plan builds with szc, does not set or vary `heap` or `allocator`, and does "
     "not vary `code` or turn it off, `stabctl` sets this key in the stored plan"},
    {"by_default.stack", Flag{false},
     "the default of `stack` for programs that szc builds; if a plan builds with szc but sets "
     "neither `code` nor `stack`, `stabctl` sets this key to `true` in the stored plan"},
    {"by_default.nodes", Count{1, max_machines},
     "the number of nodes if `machines.nodes` is a range; `stabctl` chooses this number when it "
     "submits the plan",
     "the least number of the range"},
    {"by_default.cost", Flag{false},
     "the default of `analysis.cost`; if a plan compares levels in 20 or more blocks and something "
     "in the layouts of its programs is random, `stabctl` sets this key to `true` in the stored "
     "plan"},

    {"stated.compiler", Text{is_question, question_rule},
     "for programs that exist already: the compiler that szc called; reports name it if szc built "
     "all programs"},
    {"stated.beside", Text{is_question, question_rule},
     "a name for the `beside` commands; reports show this name instead of the commands"},
    {"stated.heap_cost", Text{is_question, question_rule},
     "the cost of random heap blocks, or the change that they cause, for example `costs +0.4 % of "
     "CPU "
     "time`; reports show it if "
     "heap blocks are random"},
    {"stated.why_no_heap", Text{is_question, question_rule},
     "the reason that reports give if `heap` is not in `[randomize]`"},
    {"stated.why_no_stack", Text{is_question, question_rule},
     "the reason that reports give if `stack` is not in `[randomize]`"},

    {"revisions.NAME", Text{is_commit, commit_rule},
     "in the stored plan: the commit that the revision `NAME` stands for", "added by `stabctl`"},

    {"design.kind", Choice{words::kinds, to_string(DesignKind::full_factorial)},
     "the design, which determines what is compared (\"Designs\")"},
    {"design.order", Choice{words::orders, "randomized-blocks"},
     "has no effect, because the order of trials is always `randomized-blocks`"},
    {"design.cells", Several{1, 1'000, "tables"},
     "for `custom`: the level of each treatment in each cell, for example `{ opt = \"O2\" }`",
     "required for `custom`"},
    {"design.stop.rule", Choice{words::rules},
     "`precision` ends the experiment when every change is known precisely enough, and "
     "`sequential` when every comparison has a verdict",
     "required in `stop`"},
    {"design.stop.half_width", Percentage{},
     "for `precision`: how far each ratio's confidence interval may extend to either side",
     "required for `precision`"},
    {"design.stop.min", CountWith{15, "precision", 5, "sequential", max_blocks, 20},
     "how many blocks run before the experiment may end"},
    {"design.stop.max", CountWith{15, "precision", 5, "sequential", max_blocks},
     "the largest number of blocks", "required in `stop`"},
    {"design.stop.looks", Count{2, 20, 5},
     "for `sequential`: the number of analyses, evenly spaced from `min` to `max`"},
    {"design.time", Duration{},
     "how long the experiment may take; the first 5 blocks (or `stop.min` blocks) always run; "
     "after them, stabd starts no block that would end too late",
     "no limit"},
    {"design.comparisons", Count{2, 10'000, 20},
     "for `calibration`: how often each benchmark is compared with itself"},
    {"design.generators", Several{1, max_fractional_treatments - 1, "texts"},
     "for `fractional`: how the levels of some treatments follow from the levels of others, for "
     "example "
     "`[\"d = a:b:c\"]`",
     "required without `resolution`"},
    {"design.resolution", Count{3, max_fractional_treatments},
     "for `fractional`: how well the design can tell effects apart",
     "required without `generators`"},

    {"causal.scope", Texts{is_filled_word, filled_word_rule},
     "for `causal`: shell patterns of the source files whose lines the profiler speeds up (it "
     "simulates this by pausing the other threads)",
     "files in the build's copy of the sources, or in the plan's folder"},
    {"causal.binary", Texts{is_filled_word, filled_word_rule},
     "patterns of other files, such as libraries; the profiler also speeds up the lines of these "
     "files; the patterns may use `${OUT}`, `${DIR}` and `${SRC}`",
     "none"},
    {"causal.line", Text{is_filled_word, filled_word_rule},
     "the only line that the profiler speeds up, as FILE:LINE; FILE may be the end of a path",
     "samples determine the lines"},
    {"causal.progress", Texts{is_filled_word, filled_word_rule},
     "source lines, each as FILE:LINE, for programs without progress points; a sample in one of "
     "these lines counts as progress",
     "none"},
    {"causal.experiment", Duration{std::chrono::milliseconds(50)},
     "the length of the first performance experiment, 10ms to 10min; later ones are longer if "
     "progress points are rarely visited"},
    {"causal.sample_period", Duration{std::chrono::milliseconds(1)},
     "the CPU time between two samples, 100us to 1s"},
    {"causal.end_to_end", Flag{false},
     "whether each trial is a single performance experiment; if it is, the end of the trial "
     "counts as progress"},
    {"causal.speedup", Percentage{},
     "with `end_to_end` and `line`: in each pair of blocks, one block uses this speedup and the "
     "other uses speedup 0",
     "random speedups"},
    {"causal.arrival_speedup", Duration{},
     "the time that a thread saves at each visit to `STAB_ARRIVAL` in relation to the other "
     "threads, which pause; at most 10s",
     "none"},

    {"exclude.when", Text{is_filled_word, filled_word_rule},
     "a rule, for example `\"steal_share > 1%\"`; a trial that matches the rule counts as "
     "disturbed and "
     "runs again (\"Excluding disturbed trials\")",
     "required"},

    {"measure.counters",
     Other{"an array of at most 64 names; the names in an inner array form a group"},
     "the events that each trial counts (`stabctl counters` lists their names); the events of a "
     "group are counted at the same time or not at all",
     "none"},
    {"measure.rotate", Other{"an array of 2 to 16 arrays of names"},
     "sets of further events; each block counts one of the sets in turn; the events of a set form "
     "a group (\"Sets that take turns\")",
     "none"},
    {"measure.profile", Text{is_event, event_rule},
     "the event to sample, for example `task-clock:u`; the samples show in which functions each "
     "trial "
     "spends its time (`stabctl profile`; \"Profiles\")",
     "none"},
    {"measure.profile_hz", Count{1, 10'000, 997},
     "the number of samples per second of running time"},
    {"measure.on_absent", Choice{words::on_absent, "record"},
     "if this machine cannot count an event: `record` stores the reason, and `refuse` ends the "
     "experiment before its first trial"},
    {"measure.simulate", Flag{false},
     "whether every trial runs under valgrind's cachegrind, which counts instructions and "
     "simulates caches and branches instead of measuring time (\"Simulated counts\")"},
    {"measure.output.name", Text{is_name, name_rule},
     "the name of a number that programs print; stabd records the number for each trial",
     "required"},
    {"measure.output.regex", Text{is_pattern, pattern_rule},
     "a pattern (RE2) whose first group is the number; `^` and `$` match at the start and at the "
     "end of each line",
     "one of `regex`, `json` and `google_benchmark` is required"},
    {"measure.output.json", Text{is_word, word_rule},
     "a JSON pointer (RFC 6901) to the number; the whole output must be JSON", "see `regex`"},
    {"measure.output.google_benchmark", Text{is_title, title_rule},
     "which value to read for each Google benchmark (`real_time`, `cpu_time` or the name of a "
     "counter); the whole output must be Google Benchmark's JSON",
     "see `regex`"},
    {"measure.output.take", Choice{words::picks, to_string(Pick::only)},
     "the match that stabd takes if `regex` matches several times; with `only`, a second match is "
     "an error; "
     "with `samples`, each match is a sample of the trial"},
    {"measure.output.unit", Text{is_unit, unit_rule},
     "the unit of the number; `ns` is shown as a time, and `bytes` as a size; times of Google "
     "Benchmark are always in `ns`",
     "none"},
    {"measure.output.from", Choice{words::streams, "stdout"}, "where programs print the number"},
    {"measure.output.benchmarks", Texts{is_name, name_rule}, "the benchmarks that print the number",
     "all benchmarks"},
    {"measure.derived.NAME", Text{is_formula, formula_rule},
     "a value that is computed for each trial from the trial's readings, for example `ipc = "
     "\"instructions / cycles\"` (\"Measures of your own\")"},

    {"machine.cpus", Count{1, 1024, 1}, "the number of CPUs that are reserved for a trial"},
    {"machine.cpu", Other{"0 to 1023, or an array of 1 to 1024 such numbers"},
     "the kernel's numbers for the CPUs that trials run on", "any"},
    {"machine.quiesce", Choice{words::quiesce, "off"},
     "with `best-effort` or `strict`, stabd changes the machine settings that disturb trials, and "
     "restores them at the end; `best-effort` changes as many settings as possible before the "
     "first trial and lists the others; `strict` runs trials only if all of these settings are "
     "quiet; `machine.quiet` is another name for this key"},
    {"machine.knobs", Choices{words::knobs}, "with `quiesce`: the only settings that stabd changes",
     "the standard knobs of `stabctl quiet status`"},
    {"machine.wait_for_quiet", Duration{},
     "how long stabd waits for a quiet machine before each block; after that time, the block runs "
     "anyway",
     "no waiting"},
    {"machine.quiet_load", Percentage{},
     "with `wait_for_quiet`: the largest allowed share of time for other work on the trial's CPUs, "
     "for other work on all other CPUs, and for waiting for memory; other work includes steal",
     "`\"5%\"`"},
    {"machine.quiet_temperature_c", Number{-50, 200, std::nullopt},
     "with `wait_for_quiet`: the highest allowed temperature of the CPU", "any"},
    {"machine.quiet_frequency_khz", Number{1, 1e9, std::nullopt},
     "with `wait_for_quiet`: the lowest allowed frequency of the trial's CPUs", "any"},
    {"machine.aslr", Flag{false},
     "whether address space randomization is on, unless a factor sets it"},

    {"machines.engine", Choice{words::engines},
     "trials run on nodes of a Slurm cluster (doc/cluster.md)", "required in `machines`"},
    {"machines.nodes", Other{nodes_rule},
     "the number of nodes or their names, at most 64; each node runs `repetitions` blocks. From a "
     "range, `stabctl` chooses as many nodes as are idle when it submits the plan",
     "1"},
    {"machines.partition", Text{is_cluster_word, cluster_word_rule},
     "the partition of the allocation", "the cluster's default"},
    {"machines.account", Text{is_cluster_word, cluster_word_rule}, "the account that is charged",
     "the user's default"},
    {"machines.qos", Text{is_cluster_word, cluster_word_rule},
     "the Slurm quality of service (QOS) of the allocation", "the cluster's default"},
    {"machines.constraint", Text{is_cluster_word, cluster_word_rule},
     "the Slurm features that a node must have", "none"},
    {"machines.reservation", Text{is_cluster_word, cluster_word_rule},
     "the Slurm reservation that the allocation uses", "none"},
    {"machines.time_limit", Duration{},
     "how long one Slurm allocation may last, rounded up to minutes; a longer experiment continues "
     "in another allocation",
     "the partition's limit"},
    {"machines.answer", Choice{words::programs, "these"},
     "whether the answer is about these machines only, or about machines like these; `like-these` "
     "needs several nodes"},
    {"machines.drain", Flag{false},
     "whether stabd drains a node that is out of order (`scontrol update ... state=drain`); Slurm "
     "allows only its operators to do this"},

    {"analysis.response", Other{response_words},
     "the value that is compared, or an array of such values, each with its own verdicts; "
     "`main_to_exit` and regions need programs that szc built; `analysis.metric` is another name "
     "for this key",
     "`\"wall\"`; `\"relative_cpu\"` if all benchmarks have `beside`"},
    {"analysis.log", Flag{true},
     "whether to compare geometric means; always `false` in a padding study and with `stabilizer`"},
    {"analysis.alpha", Number{0.0001, 0.5, 0.05}, "the significance level of the tests"},
    {"analysis.equivalence", Percentage{},
     "the smallest change that matters; `analysis.margin` is another name for this key", "none"},
    {"analysis.method", Choice{words::methods, "standard"},
     "`stabilizer` is the procedure of the STABILIZER paper (2013), on values without logarithms, "
     "for `within-subjects`"},
    {"analysis.sums_of_squares", Count{2, 3, 2},
     "only with `pooled`: the type of the sums of squares; it determines how the terms of "
     "unbalanced data are adjusted for each other"},
    {"analysis.error", Choice{words::errors, "own"},
     "`own`: each comparison has its own error; `pooled`: in designs with blocks, all comparisons "
     "share one error"},
    {"analysis.estimand", Choice{words::estimands, "mean"},
     "the average that decides the verdicts: `mean` (over all blocks), `typical` (the mean without "
     "the highest fifth and the lowest fifth of the blocks) or `median` (the change that half of "
     "the blocks exceed); the report shows all three averages; with nested designs, padding "
     "studies and pooled errors, only `mean` gives verdicts; `analysis.average` is another name "
     "for this key"},
    {"analysis.losses", Choice{words::losses, "extremes"},
     "the assumption about lost trials: with `extremes`, a lost trial could have had any value "
     "within the trial's limits; with `random`, losses do not depend on the levels; with "
     "`monotone`, one level loses all trials that the other level would lose, and some more (Lee's "
     "bounds)"},
    {"analysis.programs", Choice{words::programs, "like-these"},
     "for `within-subjects`: which answer decides the verdicts, the answer about these programs or "
     "the answer about programs like these"},
    {"analysis.pairs", Choice{words::pairs, "baseline"},
     "`baseline`: each level is compared with the first level; `all`: each level is compared with "
     "every other level"},
    {"analysis.control", Text{is_name, name_rule},
     "for `one-way`: the name of the control, which is a level that does the same as the first "
     "level; the measured change of the control is only noise, and this noise limits the verdicts "
     "of the other levels; the control itself gets no verdict",
     "none"},
    {"analysis.cost", Flag{},
     "whether one of five blocks runs each benchmark's first cell once more, without random "
     "layouts; the report then says what random layouts cost (\"What random layouts cost\")",
     "`by_default.cost`"},
    {"analysis.better", Choice{words::directions, "lower"},
     "whether lower or higher values of the response are better"},
    {"analysis.higher", Texts{is_event, event_rule},
     "the further responses for which higher values are better", "none"}};

// Names that new users understand, for keys whose own names they may not. The reader takes both names
// of a key, but not both in one plan.
struct OtherName {
  std::string_view table;
  std::string_view better;
  std::string_view key;
};
inline constexpr OtherName other_names[] = {{"analysis", "metric", "response"},
                                            {"analysis", "margin", "equivalence"},
                                            {"analysis", "average", "estimand"},
                                            {"machine", "quiet", "quiesce"}};

template <Path path>
inline constexpr const auto& kind_of = toml::kind_of<keys, path>;

template <Path path>
inline constexpr auto standard_of = kind_of<path>.standard.value();

// The value in the plan. It is nothing if the key is missing, or if the value is wrong; a wrong
// value becomes a problem.
template <Path path>
auto given(const toml::Table& table) {
  return toml::read(table, path.name(), kind_of<path>);
}
// With fewer blocks than `least`, the stopping rule's conclusion would not be justified.
template <Path path>
std::optional<std::uint32_t> given(const toml::Table& table, StopRule rule) {
  constexpr CountWith kind = kind_of<path>;
  return toml::read(table, path.name(),
                    Count{to_string(rule) == kind.with ? kind.least : kind.other_least, kind.max});
}

// The same for a table that may be missing, or the default.
template <Path path>
auto value(const std::optional<toml::Table>& table) {
  using Value = decltype(given<path>(*table))::value_type;
  std::optional<Value> read;
  if (table) read = given<path>(*table);
  return read ? *std::move(read) : Value(standard_of<path>);
}

// The names below a path, which are the keys that a table may have; "" stands for the whole plan.
inline toml::Words names_below(std::string_view path) {
  return toml::names_below(keys, path);
}

inline std::vector<KeyWords> describe_keys() {
  return toml::describe_keys(keys);
}

}  // namespace stab::plan
