// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "client/ab/ab.h"
#include "client/exit_code.h"
#include "client/follow.h"
#include "client/streams.h"
#include "machine/measured_run.h"
#include "machine/program.h"
#include "stats/numbers/summary.h"
#include "stats/tests/estimate.h"
#include "stats/verdicts/analysis.h"
#include "worker/trial.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// The text of plans/programs/calculator.c, which the build puts here.
constexpr std::string_view program_text =
#include "client/ab/demo_program.inc"
    ;

constexpr std::size_t orders = 6;
constexpr std::size_t choosing_rounds = 4;
constexpr std::size_t fewest_shown = 10;
constexpr std::size_t most_shown = 40;
constexpr auto time_shown = std::chrono::seconds(14);
constexpr double margin = 0.02;
constexpr double alpha = 0.05;
constexpr int bar_columns = 24;

// A temporary folder, which is removed with everything in it.
class Folder {
 public:
  Folder() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "stabctl-demo.XXXXXX").string();
    if (!error && mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The szc beside stabctl, or else the one in PATH.
std::string compiler() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = self.parent_path() / "szc";
  return !error && fs::exists(beside, error) ? beside.string() : "szc";
}

// Binds all runs to one CPU, so that none of them pays for a migration.
bool bind_to_last_cpu() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return true;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    break;
  }
  return true;
}

class Demo {
 public:
  Demo(const DemoOptions& options, std::string folder)
      : random_(derive(options.seed, "demo")), folder_(std::move(folder)) {}

  Result<void> build() {
    std::ofstream(folder_ + "/calculator.c") << program_text;
    const std::string szc = compiler();
    if (auto done = command({szc, "-O2", "-c", "calculator.c", "-o", "calculator.o"}); !done)
      return done;
    for (std::size_t order = 0; order < orders; ++order)
      if (auto done = command({szc, fmt::format("--stab-link-order={}", order + 1), "calculator.o",
                               "-o", program(order)});
          !done)
        return done;
    return {};
  }

  // Chooses the fastest and the slowest order by runs that are not shown.
  Result<void> choose() {
    std::vector<double> sums(orders, 0);
    for (std::size_t round = 0; round < choosing_rounds; ++round)
      for (const std::size_t order : in_random_order(orders)) {
        const auto took = run(order, false);
        if (!took) return std::unexpected(took.error());
        sums[order] += std::log(*took);
      }
    runs_.fast = static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin());
    runs_.slow = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
    if (runs_.slow == runs_.fast) runs_.slow = (runs_.fast + 1) % orders;
    return {};
  }

  // Rounds of four runs in random order: both link orders, in fixed and in random layouts.
  Result<void> measure() {
    const auto end = steady_clock::now() + time_shown;
    for (std::size_t round = 0; round < most_shown; ++round) {
      if (round >= fewest_shown && steady_clock::now() > end) break;
      std::array<double, 4> took{};
      for (const std::size_t which : in_random_order(took.size())) {
        const bool is_random = which >= 2;
        const auto one = run(which % 2 == 0 ? runs_.fast : runs_.slow, is_random);
        if (!one) return std::unexpected(one.error());
        took[which] = std::log(*one);
      }
      for (std::size_t kind = 0; kind < 2; ++kind) {
        runs_.fast_runs[kind].push_back(took[2 * kind]);
        runs_.slow_runs[kind].push_back(took[2 * kind + 1]);
      }
    }
    return {};
  }

  [[nodiscard]] const DemoRuns& runs() const { return runs_; }

  // The signal that asks us to end; nothing if none has come.
  [[nodiscard]] std::optional<int> signal() const {
    pollfd one{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
    if (poll(&one, 1, 0) != 1) return std::nullopt;
    return signals_.take();
  }

 private:
  [[nodiscard]] std::string program(std::size_t order) const {
    return fmt::format("{}/order-{}", folder_, order + 1);
  }

  std::vector<std::size_t> in_random_order(std::size_t count) {
    std::vector<std::size_t> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = i;
    random_.shuffle(std::span(result));
    return result;
  }

  Result<void> command(std::vector<std::string> argv) {
    machine::Launch launch;
    launch.argv = std::move(argv);
    launch.environment = machine::make_environment(machine::base_variables(geteuid()), 0);
    launch.directory = folder_;
    launch.stop_fd = signals_.fd();
    launch.timeout = std::chrono::minutes(2);
    launch.output_limit = std::uint64_t{1} << 20;
    const machine::Ended ended = machine::run(launch);
    if (ended.how == machine::End::exited && ended.exit_code == 0) return {};
    const std::string why = ended.how == machine::End::exited
                                ? fmt::format("exit code {}", ended.exit_code)
                                : ended.reason;
    const std::string said = one_line(tail(ended.err, 400), 500);
    return fail(
        fmt::format("demo: szc could not build the program ({}){}{}; 'stabctl compiler list' shows "
                    "which compilers szc can use",
                    why, said.empty() ? "" : ": ", said));
  }

  // The CPU time of one run in ns.
  Result<double> run(std::size_t order, bool is_random) {
    plan::Variables options{{"code", "0"}, {"stack", "0"}, {"heap", "0"}};
    if (is_random)
      options = {{"code", "1"},     {"stack", "1"},    {"heap", "0"},
                 {"period", "5ms"}, {"budget", "off"}, {"seed", fmt::to_string(++layouts_)}};
    const protocol::RunRequest request{
        .argv = {program(order), "6000000"},
        .directory = folder_,
        .timeout = std::chrono::minutes(1),
        .output_limit = std::uint64_t{1} << 20,
        .options = std::move(options),
        .by_default = {"stack"},  // frames of some compilers have no pads
        .needs = is_random ? plan::Needs::randomized : plan::Needs::nothing};
    worker::TrialContext context;
    context.stop_fd = signals_.fd();
    context.bind = bind_to_last_cpu;
    const protocol::RunReply reply = worker::run_trial(request, context);
    if (reply.status != store::TrialStatus::ok)
      return fail(
          fmt::format("demo: a run failed: {}; 'stabctl doctor' shows what this machine cannot do",
                      one_line(reply.reason, 200)));
    const auto time = static_cast<double>(reply.user_ns.value_or(0) + reply.system_ns.value_or(0));
    if (time <= 0)
      return fail(
          "demo: this system does not report how much CPU time a run takes; 'stabctl doctor' shows "
          "what this machine cannot do");
    return time;
  }

  Random random_;
  std::string folder_;
  SignalFd signals_;
  std::uint64_t layouts_ = 0;  // the number of random layouts so far
  DemoRuns runs_;
};

// The slow order compared with the fast one.
struct Shown {
  double change = 0;
  std::optional<stats::Interval> interval{};  // absent if the runs do not vary
  stats::Verdict verdict = stats::Verdict::unsure;
};

std::string words(stats::Verdict verdict) {
  using stats::Verdict;
  if (verdict == Verdict::same) return fmt::format("as fast within {:.0f} %", 100 * margin);
  return verdict == Verdict::slower   ? "slower"
         : verdict == Verdict::faster ? "faster"
                                      : "cannot tell";
}

Shown shown(const DemoRuns& runs, std::size_t kind) {
  const std::vector<double>& fast = runs.fast_runs[kind];
  const std::vector<double>& slow = runs.slow_runs[kind];
  Shown result;
  double sum = 0;
  for (std::size_t i = 0; i < fast.size(); ++i) sum += slow[i] - fast[i];
  if (!fast.empty()) result.change = std::exp(sum / static_cast<double>(fast.size())) - 1;
  auto estimate = stats::paired(fast, slow);
  if (!estimate) return result;
  estimate->log = true;
  const auto interval = stats::ratio_interval(*estimate, alpha);
  if (interval) result.interval = {.low = interval->low - 1, .high = interval->high - 1};
  if (const auto same = stats::p_same(*estimate, margin); same && *same < alpha)
    result.verdict = stats::Verdict::same;
  else if (interval && interval->low > 1)
    result.verdict = stats::Verdict::slower;
  else if (interval && interval->high < 1)
    result.verdict = stats::Verdict::faster;
  return result;
}

std::string conclusion(const Shown& fixed, const Shown& random) {
  const auto differs = [](const Shown& each) {
    return each.verdict == stats::Verdict::slower || each.verdict == stats::Verdict::faster;
  };
  if (fixed.verdict == stats::Verdict::same)
    return "On this machine the order of these functions changes little,\n"
           "even in a single layout.\n";
  if (!differs(fixed))
    return "There are too few runs to tell whether the order of these functions matters on\n"
           "this machine. 'stabctl demo' may tell on another try.\n";
  if (random.verdict == fixed.verdict)
    return "Over many layouts, one link order is still faster than the other.\n";
  if (differs(random))
    return "In a single layout, one link order is faster than the other. Over many\n"
           "layouts, the other link order is the faster one.\n";
  if (random.verdict == stats::Verdict::same)
    return "In a single layout, one link order is faster than the other. Over many\n"
           "layouts, the difference disappears.\n";
  return "In a single layout, one link order is faster than the other. There are\n"
         "too few runs to tell what happens over many layouts.\n";
}

}  // namespace

std::string demo_text(const DemoRuns& runs) {
  const Shown fixed = shown(runs, 0);
  const Shown random = shown(runs, 1);
  std::string text = fmt::format(
      "The same program, linked in two orders.\n\n  layouts  order {} against "
      "order {}, {} runs of each, {:.0f} % intervals\n",
      runs.slow + 1, runs.fast + 1, runs.fast_runs[0].size(), 100 * (1 - alpha));
  const double widest = std::max({std::abs(fixed.change), std::abs(random.change), margin});
  for (const auto& [name, each] : {std::pair("fixed", &fixed), std::pair("random", &random)}) {
    const int columns =
        static_cast<int>(std::lround(std::abs(each->change) / widest * bar_columns));
    std::string bar;
    for (int i = 0; i < columns; ++i) bar += "█";
    for (int i = columns; i < bar_columns; ++i) bar += ' ';
    const std::string interval = each->interval
                                     ? fmt::format("[{:+.1f}, {:+.1f}]", 100 * each->interval->low,
                                                   100 * each->interval->high)
                                     : "(no interval)";
    text += fmt::format("  {:<7}  {} {:+.1f} % {}  {}\n", name, bar, 100 * each->change, interval,
                        words(each->verdict));
  }
  return text + "\n" + conclusion(fixed, random) +
         "\nNext: stabctl ab --program ./old ./new -- ARGUMENTS\n";
}

std::string demo_json(const DemoRuns& runs, std::uint64_t seed) {
  nlohmann::json json{{"program", "calculator"},
                      {"orders", {runs.fast + 1, runs.slow + 1}},
                      {"rounds", runs.fast_runs[0].size()},
                      {"margin", margin},
                      {"seed", seed}};
  for (const auto& [name, kind] : {std::pair("fixed", 0), std::pair("random", 1)}) {
    const Shown each = shown(runs, kind);
    json[name] = {{"change", each.change},
                  {"low", nullptr},
                  {"high", nullptr},
                  {"verdict", words(each.verdict)}};
    if (!each.interval) continue;
    json[name]["low"] = each.interval->low;
    json[name]["high"] = each.interval->high;
  }
  return json.dump();
}

Result<int> demonstrate(const DemoOptions& options) {
  const Folder folder;
  if (folder.path().empty())
    return fail(
        "demo: cannot make a folder for temporary files: set TMPDIR to a folder that you can write "
        "to, for example: TMPDIR=$HOME stabctl demo");
  Demo demo(options, folder.path());
  if (!options.json)
    tell(
        "demo: builds one program in six link orders, picks two that differ, and measures them, "
        "which takes about 20 seconds");
  auto done = demo.build();
  if (done) done = demo.choose();
  if (done) done = demo.measure();
  if (const auto signal = demo.signal()) {
    tell("demo: interrupted");
    return exit_interrupted + *signal;
  }
  if (!done) return std::unexpected(done.error());
  const auto written = options.json ? write_json(demo_json(demo.runs(), options.seed))
                                    : write_output(demo_text(demo.runs()), "", Colours::none);
  if (!written) return std::unexpected(written.error());
  return 0;
}

}  // namespace stab::client::ab
