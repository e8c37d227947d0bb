// SPDX-License-Identifier: MIT
// All keys of a plan, in the order in which messages list those of a table. keys.h reads them;
// `stabctl keys` prints them, which is the table of doc/plans.md.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

#include "design/fractional.h"
#include "plan/measures/builds.h"
#include "plan/plan.h"
#include "plan/rules.h"
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
using toml::Number;
using toml::Other;
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
// Those of machine/quiet/knob_table.cc, in its order.
inline constexpr std::array<std::string_view, 17> knobs{"governor",       "energy_preference",
                                                        "boost",          "smt",
                                                        "idle_states",    "cpu_dma_latency",
                                                        "irq_affinity",   "timer_migration",
                                                        "nmi_watchdog",   "numa_balancing",
                                                        "khugepaged",     "thp",
                                                        "compaction",     "ksm",
                                                        "swappiness",     "aslr",
                                                        "other_processes"};
inline constexpr std::array<std::string_view, 7> responses{
    "wall", "user", "system", "cpu", "max_rss", "main_to_exit", "region"};
inline constexpr std::array of_builds{code_size, compile_time};
inline constexpr std::array<std::string_view, 2> methods{"standard", "stabilizer"};
inline constexpr std::array<std::string_view, 2> errors{"own", "pooled"};
inline constexpr std::array<std::string_view, 2> estimands{"mean", "typical"};
inline constexpr std::array<std::string_view, 3> losses{"extremes", "monotone", "random"};
inline constexpr std::array<std::string_view, 2> programs{"these", "like-these"};
inline constexpr std::array<std::string_view, 2> pairs{"baseline", "all"};
inline constexpr std::array picks{to_string(Pick::only), to_string(Pick::first),
                                  to_string(Pick::last), to_string(Pick::mean),
                                  to_string(Pick::sum),  to_string(Pick::samples)};
inline constexpr std::array<std::string_view, 2> streams{"stdout", "stderr"};
inline constexpr std::array<std::string_view, 2> directions{"lower", "higher"};
inline constexpr std::array<std::string_view, 1> per{"block"};
}  // namespace words

inline constexpr std::size_t max_counters = 64;  // those that take turns among them
inline constexpr std::size_t least_sets = 2;
inline constexpr std::size_t max_sets = 16;
inline constexpr std::size_t max_responses = 16;
inline constexpr std::size_t max_measures = 64;  // outputs, and as many that are derived
inline constexpr std::string_view response_words =
    "`\"wall\"`, `\"user\"`, `\"system\"`, `\"cpu\"`, `\"max_rss\"`, `\"main_to_exit\"`, "
    "`\"region\"`, `\"region-NAME-ns\"`, `\"region-NAME-count\"`, `\"code-size\"`, "
    "`\"compile-time\"`, an event of `measure.counters` "
    "or "
    "`measure.rotate`, a count of `measure.simulate`, or the name of a measure";
inline constexpr std::uint32_t max_repeats = 100'000;
inline constexpr std::uint64_t max_output = std::uint64_t{1} << 30;
inline constexpr std::uint64_t max_memory = std::uint64_t{1} << 50;
inline constexpr std::chrono::nanoseconds max_arrival_speedup = std::chrono::seconds(10);
inline constexpr std::uint32_t max_env_bytes = std::uint32_t{1} << 20;
inline constexpr std::uint32_t max_blocks = 1'000'000;

inline constexpr Key keys[] = {
    {"experiment.name", Text{is_title, title_rule}, "the name of the experiment", "required"},
    {"experiment.seed", Seed{0, std::numeric_limits<std::int64_t>::max(), 1},
     "every random choice derives from it"},
    {"experiment.question", Text{is_question, question_rule}, "shown with the answer"},
    {"experiment.privileges", Flag{false},
     "only in root's plans: builds and trials keep root's capabilities and may gain rights"},
    {"experiment.network", Flag{true},
     "false: builds and trials have a loopback device of their own and no other network"},
    {"experiment.notify", Texts{is_filled_word, filled_word_rule},
     "a program and its arguments; gets JSON on its stdin when the experiment ends or is in "
     "trouble",
     "none"},

    {"variables.NAME", Text{is_word, word_rule}, "stands for `${NAME}`"},
    {"variables.CC", Text{is_word, word_rule, "clang-19"}, "the compiler of C"},
    {"variables.CXX", Text{is_word, word_rule, "clang++-19"}, "the compiler of C++"},
    {"variables.CFLAGS", Text{is_word, word_rule, ""}, "options for C"},
    {"variables.CXXFLAGS", Text{is_word, word_rule, ""}, "options for C++"},
    {"variables.LDFLAGS", Text{is_word, word_rule, ""},
     "options for the linker; some factors add to them"},

    {"defaults.repetitions", Count{1, max_repeats, 30},
     "how many blocks are measured; not with `design.stop`"},
    {"defaults.timeout", Duration{std::chrono::minutes(1)},
     "a trial that takes longer is ended and has failed"},
    {"defaults.build_timeout", Duration{std::chrono::minutes(30)},
     "a build that takes longer is ended and has failed"},
    {"defaults.output_limit", Bytes{max_output, std::uint64_t{16} << 20},
     "how many bytes a trial may write to stdout, and as many to stderr"},
    {"defaults.memory_limit", Bytes{max_memory},
     "how much memory a trial's processes may use together; a trial that uses more has failed",
     "none"},
    {"defaults.cpu_limit", Duration{}, "how much CPU time a trial's processes may use together",
     "none"},
    {"defaults.process_limit", Count{1, 1'000'000}, "how many processes a trial may have at once",
     "none"},
    {"defaults.file_limit", Bytes{max_memory}, "how large each file that a trial writes may be",
     "none"},
    {"defaults.warmup", Count{0, 1000, 0}, "blocks that run first and are not analysed"},
    {"defaults.retries", Count{0, 10, 0}, "further attempts at a trial that failed"},
    {"defaults.give_up_after", Count{0, 1000, 5},
     "after how many failed trials in a row the benchmark's other trials are skipped; 0: never"},
    {"defaults.exclude_repeats", Count{0, 10, 1},
     "further attempts at a trial that an `exclude` rule catches, at the end of its block"},
    {"defaults.on_build_failure", Choice{words::on_build_failure, "fail-benchmark"},
     "whether a failed build ends its benchmark or the experiment"},

    {"benchmark.name", Text{is_name, name_rule}, "each benchmark has its own", "required"},
    {"benchmark.build", Text{is_filled_word, filled_word_rule},
     "for `/bin/sh`, in a private copy of the sources; writes `${OUT}`", "`run` names a program"},
    {"benchmark.run", Texts{is_word, word_rule}, "the program and its arguments, no shell",
     "required"},
    {"benchmark.env.NAME", Text{is_word, word_rule}, "a variable of the environment"},
    {"benchmark.stdin", Text{is_filled_word, filled_word_rule}, "a file", "nothing to read"},
    {"benchmark.prepare", Text{is_filled_word, filled_word_rule},
     "for `/bin/sh`, before each trial; not measured"},
    {"benchmark.cleanup", Text{is_filled_word, filled_word_rule},
     "for `/bin/sh`, after each trial; not measured"},
    {"benchmark.sources", Texts{is_relative_path, relative_path_rule},
     "files and folders that the build reads", "the plan's folder"},
    {"benchmark.check.exit", Other{"0 to 255, or an array of such numbers"},
     "the exit code of success, or several", "0"},
    {"benchmark.check.stdout_sha256", Text{is_sha256, sha256_rule},
     "the digest that stdout must have"},
    {"benchmark.check.stdout_file", Text{is_relative_path, relative_path_rule},
     "a file whose content stdout must equal"},
    {"benchmark.check.command", Text{is_filled_word, filled_word_rule},
     "for `/bin/sh`; reads the trial's stdout on its stdin and exits with 0 if it is right"},
    {"benchmark.repetitions", Count{1, max_repeats}, "the same for this benchmark", "`defaults`"},
    {"benchmark.timeout", Duration{}, "the same for this benchmark", "`defaults`"},
    {"benchmark.build_timeout", Duration{}, "the same for this benchmark", "`defaults`"},
    {"benchmark.output_limit", Bytes{max_output}, "the same for this benchmark", "`defaults`"},
    {"benchmark.memory_limit", Bytes{max_memory}, "the same for this benchmark", "`defaults`"},
    {"benchmark.cpu_limit", Duration{}, "the same for this benchmark", "`defaults`"},
    {"benchmark.process_limit", Count{1, 1'000'000}, "the same for this benchmark", "`defaults`"},
    {"benchmark.file_limit", Bytes{max_memory}, "the same for this benchmark", "`defaults`"},

    {"factor.NAME.levels", Other{"a table, or an array for built-in factors"},
     "`{ LEVEL = { VARIABLE = \"text\" } }`, or a list", "`random`"},
    {"factor.NAME.revisions",
     Other{"an array of 2 to 100 revisions of git, or `{ LEVEL = \"revision\" }`"},
     "each level is built from the files of its revision; `\".\"` is the working tree", "none"},
    {"factor.NAME.random.per", Choice{words::per}, "one value for all cells of a block"},
    {"factor.NAME.random.seeds", Count{2, max_repeats}, "seeds that each cell gets",
     "required without `per`"},
    {"factor.NAME.random.runs", Count{1, max_repeats}, "how often each seed is run",
     "required without `per`"},
    {"factor.env_bytes.random.min", Count{0, max_env_bytes, 0}, "the least that is drawn"},
    {"factor.env_bytes.random.max", Count{0, max_env_bytes, 4096}, "the most that is drawn"},

    {"randomize.OPTION", Other{"as its level would be"},
     "an option of szc's runtime, the same in all trials (\"Random layouts\")",
     "the runtime's own"},

    {"by_default.stack", Flag{false},
     "the default of `stack` for programs that szc builds; `stabctl` adds this table, so that a "
     "stored plan keeps its meaning"},

    {"revisions.NAME", Text{is_commit, commit_rule},
     "the commit of this revision of a factor; `stabctl` adds it if it is missing", "added"},

    {"design.kind", Choice{words::kinds, to_string(DesignKind::full_factorial)},
     "the design, which says what is compared with what (\"Designs\")"},
    {"design.order", Choice{words::orders, "randomized-blocks"}, "there is no other"},
    {"design.cells", Several{1, 1'000, "tables"},
     "for `custom`: the level of each treatment, as in `{ opt = \"O2\" }`", "required there"},
    {"design.stop.rule", Choice{words::rules},
     "`precision`: ends when every change is known well enough; `sequential`: when every "
     "comparison has a verdict",
     "required in `stop`"},
    {"design.stop.half_width", Percentage{},
     "for `precision`: each interval of a ratio reaches at most so far to each side",
     "required there"},
    {"design.stop.min", CountWith{15, "precision", 5, "sequential", max_blocks, 20},
     "blocks before it may end"},
    {"design.stop.max", CountWith{15, "precision", 5, "sequential", max_blocks}, "blocks at most",
     "required in `stop`"},
    {"design.stop.looks", Count{2, 20, 5},
     "for `sequential`: how often the rule looks, evenly spaced from `min` to `max`"},
    {"design.time", Duration{},
     "how long the experiment may take: no block begins that would end later, but the first 5 "
     "(`stop.min`) always run",
     "as long as it takes"},
    {"design.comparisons", Count{2, 10'000, 20},
     "for `calibration`: how often each benchmark is compared with itself"},
    {"design.generators", Several{1, max_fractional_treatments - 1, "texts"},
     "for `fractional`, as in `[\"d = a:b:c\"]`", "`resolution`"},
    {"design.resolution", Count{3, max_fractional_treatments},
     "for `fractional`: how well effects can be told apart", "`generators`"},

    {"causal.scope", Texts{is_filled_word, filled_word_rule},
     "for `causal`: patterns of source files whose lines are tried, as a shell matches them",
     "files in the build's copy, or in the plan's folder"},
    {"causal.binary", Texts{is_filled_word, filled_word_rule},
     "patterns of other files (libraries) whose lines are tried, too; may use `${OUT}`, `${DIR}` "
     "and `${SRC}`",
     "none"},
    {"causal.line", Text{is_filled_word, filled_word_rule},
     "FILE:LINE; no other line is tried, and FILE may be the end of a path", "samples choose"},
    {"causal.progress", Texts{is_filled_word, filled_word_rule},
     "FILE:LINE each, for programs without progress points: samples of these lines are counted",
     "none"},
    {"causal.experiment", Duration{std::chrono::milliseconds(50)},
     "the first experiment's length, 10ms to 10min; the next ones are longer where progress points "
     "are seldom visited"},
    {"causal.sample_period", Duration{std::chrono::milliseconds(1)},
     "CPU time from one sample to the next, 100us to 1s"},
    {"causal.end_to_end", Flag{false}, "a trial is one experiment and its end the progress point"},
    {"causal.speedup", Percentage{},
     "with `end_to_end` and `line`: one of each two blocks is at this speedup, the other at 0",
     "it is drawn"},
    {"causal.arrival_speedup", Duration{},
     "each visit of `STAB_ARRIVAL` makes its thread faster by this much, at most 10s", "none"},

    {"exclude.when", Text{is_filled_word, filled_word_rule},
     "a rule, as in `\"steal_share > 1%\"`: a trial that it catches was disturbed and is run again "
     "(\"Excluding disturbed trials\")",
     "required"},

    {"measure.counters", Other{"an array of at most 64 names; names in an inner array are a group"},
     "events that each trial counts, as `stabctl counters` lists them; the events of a group are "
     "counted at the same time or not at all",
     "none"},
    {"measure.rotate", Other{"an array of 2 to 16 arrays of names"},
     "sets of further events that take turns: each block counts one set, at the same time or not "
     "at all (\"Sets that take turns\")",
     "none"},
    {"measure.profile", Text{is_event, event_rule},
     "an event, as `task-clock:u`, whose samples say in which functions each trial spends its time "
     "(`stabctl profile`; \"Profiles\")",
     "no samples"},
    {"measure.profile_hz", Count{1, 10'000, 997}, "samples per second of what runs"},
    {"measure.on_absent", Choice{words::on_absent, "record"},
     "if this machine cannot count an event: `record` stores why, `refuse` measures nothing"},
    {"measure.simulate", Flag{false},
     "every trial runs under valgrind's cachegrind, which counts instructions and simulates caches "
     "and branches, instead of being timed (\"Simulated counts\")"},
    {"measure.output.name", Text{is_name, name_rule},
     "names a number that programs print, which becomes a reading of each trial", "required"},
    {"measure.output.regex", Text{is_pattern, pattern_rule},
     "a pattern (RE2) whose first group is the number; `^` and `$` match at each line", "`json`"},
    {"measure.output.json", Text{is_word, word_rule},
     "if everything that is printed is JSON: a pointer (RFC 6901) to the number", "`regex`"},
    {"measure.output.google_benchmark", Text{is_title, title_rule},
     "if everything that is printed is the JSON of Google Benchmark: `real_time`, `cpu_time` or a "
     "counter, read for each of its benchmarks",
     "`regex`"},
    {"measure.output.take", Choice{words::picks, to_string(Pick::only)},
     "which of several matches of `regex` counts; with `only` a second match is an error, with "
     "`samples` each match is a sample of the trial"},
    {"measure.output.unit", Text{is_unit, unit_rule}, "`ns` and `bytes` are shown as such", "none"},
    {"measure.output.from", Choice{words::streams, "stdout"}, "where it is printed"},
    {"measure.output.benchmarks", Texts{is_name, name_rule}, "the benchmarks that print it",
     "all of them"},
    {"measure.derived.NAME", Text{is_formula, formula_rule},
     "a reading of each trial that is computed, as in `ipc = \"instructions / cycles\"` "
     "(\"Measures of your own\")"},

    {"machine.cpus", Count{1, 1024, 1}, "CPUs that are reserved for a trial"},
    {"machine.cpu", Other{"0 to 1023, or an array of 1 to 1024 such numbers"},
     "the CPU or CPUs that trials run on, by the kernel's numbers", "any"},
    {"machine.quiesce", Choice{words::quiesce, "off"},
     "whether to quiet settings of the machine that disturb trials: `best-effort` changes what it "
     "can before the first trial and names the rest, `strict` measures nothing unless all are "
     "quiet; at the end they are put back"},
    {"machine.knobs", Choices{words::knobs}, "with `quiesce`: change only these settings",
     "the standard ones of `stabctl quiesce status`"},
    {"machine.wait_for_quiet", Duration{},
     "before each block, how long trials wait at most for a quiet machine; then they run anyway",
     "they do not wait"},
    {"machine.quiet_load", Percentage{},
     "with `wait_for_quiet`: the largest share of time that others (also the host of a virtual "
     "machine: steal) may use the trial's CPUs or the other CPUs, or that tasks may wait for "
     "memory",
     "`\"5%\"`"},
    {"machine.quiet_temperature_c", Number{-50, 200, std::nullopt},
     "with `wait_for_quiet`: the CPU's highest temperature", "any"},
    {"machine.quiet_frequency_khz", Number{1, 1e9, std::nullopt},
     "with `wait_for_quiet`: the lowest frequency of the trial's CPUs", "any"},
    {"machine.aslr", Flag{false}, "address space randomization, unless a factor says otherwise"},

    {"analysis.response", Other{response_words},
     "the number that is compared; `main_to_exit` and regions need programs that szc built; an "
     "array adds "
     "further responses, each with verdicts of its own",
     "`\"wall\"`"},
    {"analysis.log", Flag{true},
     "compare geometric means; never in a padding study or with `stabilizer`"},
    {"analysis.alpha", Number{0.0001, 0.5, 0.05}, "level of the tests"},
    {"analysis.equivalence", Percentage{}, "the smallest change that matters", "none"},
    {"analysis.method", Choice{words::methods, "standard"},
     "`stabilizer`: the paper of 2013, on raw numbers, for `within-subjects`"},
    {"analysis.sums_of_squares", Count{2, 3, 2},
     "how the terms of unbalanced data are adjusted for each other; with `pooled` only"},
    {"analysis.error", Choice{words::errors, "own"},
     "`own`: each comparison has an error of its own; `pooled`: all share one, in designs with "
     "blocks"},
    {"analysis.estimand", Choice{words::estimands, "mean"},
     "the average that decides: `mean`, of all blocks, or `typical`, the mean without a fifth of "
     "the blocks at each end; both are shown"},
    {"analysis.losses", Choice{words::losses, "extremes"},
     "the numbers that lost trials may have had: `extremes`, whatever their limits permit; "
     "`monotone`, one level loses every trial that the other would lose, and some more (Lee's "
     "bounds); `random`, losses have nothing to do with the levels"},
    {"analysis.programs", Choice{words::programs, "like-these"},
     "for `within-subjects`: which answer decides, the one on these programs or the one on "
     "programs like these"},
    {"analysis.pairs", Choice{words::pairs, "baseline"},
     "`baseline`: levels are compared with the first one; `all`: with each other"},
    {"analysis.control", Text{is_name, name_rule},
     "for `one-way`: a level that does the same as the first one; its change shows how far the "
     "machine is off where nothing differs, and is never a verdict",
     "none"},
    {"analysis.better", Choice{words::directions, "lower"}, "which response is better"},
    {"analysis.higher", Texts{is_event, event_rule},
     "the further responses of the array for which more is better", "none"}};

}  // namespace stab::plan
