// SPDX-License-Identifier: MIT

#include "client/ab/ab.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"
#include "client/ab/conclusion.h"
#include "client/ab/first_runs.h"
#include "client/ab/loaded_libraries.h"
#include "client/ab/prepare_versions.h"
#include "client/ab/versions.h"
#include "client/follow.h"
#include "client/run.h"
#include "client/run_folder.h"
#include "client/streams.h"
#include "counters/readings.h"
#include "design/trial_list.h"
#include "machine/processes.h"
#include "plan/measures/names.h"
#include "plan/reading/read_plan.h"
#include "protocol/codec.h"
#include "report/json.h"
#include "report/sections/sections.h"
#include "report/text.h"
#include "results/heap_layer.h"
#include "revisions/revisions.h"
#include "toml/keys.h"

namespace stab::client::ab {

// Interrupted runs are found again, so that the same command can continue them with their original
// plan and the rest of their budget.

// Identifies a command and its inputs. It contains neither times nor the measured pace.
struct Call {
  std::string command;                        // its folder, words and options, as one text
  std::map<std::string, std::string> inputs;  // each input with its commit, digest or value
  // Files of the working tree that git does not track, with their digests.
  std::map<std::string, std::string> untracked{};
};

// The file ab_mark (run_folder.h), which a run leaves beside its database until it has ended.
struct Begun {
  Call call;
  // Files that builds and measured commands write: paths from the top of the working tree, and names
  // as the commands have them.
  std::vector<std::string> own_files{};
  std::string plan;                  // the plan's text
  std::string work;                  // the folder of its builds; "": nothing was built
  std::chrono::nanoseconds time{0};  // the part of its budget for trials
  // The results of its first runs, as in Comparison.
  bool heap = false;
  std::string why_no_heap{};
  std::optional<report::HeapCost> heap_cost{};
  results::HeapChange heap_changes{};
  bool pads = false;
  std::string why_no_pads{};
  std::vector<ForeignLibrary> foreign_libraries{};
};

constexpr std::uint64_t most_described = std::uint64_t{16} << 20;

// The options that decide what is measured.
BOOST_DESCRIBE_STRUCT(AbOptions, (),
                      (programs, words, build, run, prepare, cleanup, same, env, budget, margin,
                       response, exit_codes, cpus, machines, seed, heap, pads, control, cost))
BOOST_DESCRIBE_STRUCT(Call, (), (command, inputs, untracked))
BOOST_DESCRIBE_STRUCT(ForeignLibrary, (), (version, library, program, loaded))
BOOST_DESCRIBE_STRUCT(Begun, (),
                      (call, own_files, plan, work, time, heap, why_no_heap, heap_cost,
                       heap_changes, pads, why_no_pads, foreign_libraries))

}  // namespace stab::client::ab

namespace stab::protocol {

// A working tree may have many files that git does not track.
template <>
inline constexpr Field field<&client::ab::Call::command>{.most = client::ab::most_described};
template <>
inline constexpr Field field<&client::ab::Call::untracked>{.most = client::ab::most_described};
template <>
inline constexpr Field field<&client::ab::Begun::own_files>{.most = client::ab::most_described};
template <>
inline constexpr Field field<&client::ab::Begun::time>{.name = "time_ns"};
template <>
inline constexpr Field field<&client::ab::Begun::foreign_libraries>{.may_lack = true};
template <>
inline constexpr Numbered numbered<client::ab::Heap>{client::ab::Heap::never,
                                                     client::ab::Heap::where_possible};
template <>
inline constexpr Numbered numbered<client::ab::Pads>{client::ab::Pads::never,
                                                     client::ab::Pads::where_possible};

}  // namespace stab::protocol

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::nanoseconds;

std::string digest_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "it cannot be read";
  Sha256 hash;
  std::string piece(std::size_t{1} << 20, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    hash.add({piece.data(), static_cast<std::size_t>(file.gcount())});
  return hash.hex();
}

// The top of the copy or of the user's own tree. `folder` is the place in it that corresponds to
// `directory`.
std::string top_of(const std::string& folder, const std::string& directory) {
  const auto way = revisions::way_from_top(directory);
  fs::path top = fs::path(folder + "/").lexically_normal().parent_path();
  for (const fs::path& part : fs::path(way.value_or("")))
    if (!part.empty()) top = top.parent_path();
  return top.string();
}

// All files that git neither tracks nor ignores, as paths from the top of the working tree.
std::vector<std::string> untracked_in(const std::string& directory) {
  const auto listed = revisions::git(top_of(directory, directory),
                                     {"ls-files", "--others", "--exclude-standard", "-z"});
  return listed ? revisions::split_at_zeros(*listed) : std::vector<std::string>();
}

// The digest of everything in the folder except .git and the files in `apart`. It must be computed
// before any build.
std::string digest_of_tree(const std::string& folder,
                           const std::map<std::string, std::string>& apart) {
  std::error_code error;
  std::vector<fs::path> all;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::end(it);
       it.increment(error)) {
    if (it->path().filename() == ".git") {
      it.disable_recursion_pending();
      continue;
    }
    // Like git, we don't track folders: a command may make one for files of its own.
    if (fs::is_directory(it->symlink_status(error))) continue;
    if (!apart.contains(it->path().lexically_relative(folder).string())) all.push_back(it->path());
  }
  std::ranges::sort(all);
  Sha256 hash;
  for (const fs::path& path : all) {
    const fs::file_status status = fs::symlink_status(path, error);
    hash.add_field(path.lexically_relative(folder).string());
    hash.add_field(fmt::format("{}:{:o}", static_cast<int>(status.type()),
                               static_cast<unsigned>(status.permissions())));
    if (fs::is_symlink(status)) hash.add_field(fs::read_symlink(path, error).string());
    if (fs::is_regular_file(status)) hash.add_field(digest_of_file(path));
  }
  return hash.hex();
}

enum class Words { all, absolute };

// Files by the names that people know them by.
using Files = std::map<std::string, fs::path>;

// Adds the words of a shell command that are names of files.
void add_files_of(const std::string& command, const std::string& directory, Words words,
                  Files& files) {
  for (const std::string& word : words_in(command)) {
    const fs::path path = fs::path(directory) / word;
    std::error_code error;
    if ((words == Words::all || word.front() == '/') && fs::is_regular_file(path, error) && !error)
      files[word] = path;
  }
}

// Adds the programs that a shell finds through PATH. Programs that only arguments or builtins name
// are added as well, because they seldom change.
void add_programs_of(const Comparison& comparison, const std::string& command,
                     const std::string& directory, Files& files) {
  for (const auto& [word, path] : programs_in(comparison, command, directory))
    if (!word.contains('/')) files["the program " + word] = path;
}

// Nothing if no `ab` of this version has left a readable file in the folder.
std::optional<Begun> read_begun(const std::string& folder) {
  const auto text = read_file(folder + "/" + ab_mark, most_described);
  if (!text) return std::nullopt;
  auto read = protocol::from_text<Begun>(*text, most_described);
  return read ? std::optional(std::move(*read)) : std::nullopt;
}

// The files that the commands name. A run that continues does not build again, so the programs that
// a build finds through PATH don't matter.
Files files_of(const AbOptions& options, const Comparison& comparison,
               const std::string& directory) {
  Files files;
  if (comparison.kind == Kind::commands)
    for (const Version& version : comparison.versions) {
      add_files_of(version.text, directory, Words::all, files);
      add_programs_of(comparison, version.text, directory, files);
    }
  for (const std::string& word : comparison.arguments)
    add_files_of(word, directory, Words::all, files);
  // In folders, relative names mean files of each version.
  const Words words = comparison.kind == Kind::folders ? Words::absolute : Words::all;
  add_files_of(options.build, directory, words, files);
  for (const std::string* command :
       {&comparison.command, &comparison.prepare, &comparison.cleanup}) {
    add_files_of(*command, directory, words, files);
    add_programs_of(comparison, *command, directory, files);
  }
  return files;
}

Call call_of(const AbOptions& options, const Comparison& comparison, const std::string& directory) {
  Call call;
  call.command = fmt::format("{} in {}: {}", STAB_VERSION, protocol::dump(directory),
                             protocol::to_text(options, -1));
  for (const auto& [name, value] : comparison.env)
    call.inputs["the variable " + name] = sha256_hex(value);
  for (const auto& [name, path] : files_of(options, comparison, directory))
    call.inputs[name] = digest_of_file(path);
  for (const Version& version : comparison.versions) {
    if (comparison.kind == Kind::commands) break;
    if (comparison.kind == Kind::programs)
      call.inputs[version.said] = digest_of_file(version.text);
    else if (!version.is_working_tree)
      call.inputs[version.name] = version.said;
    else {
      const std::string top = top_of(version.text, directory);
      for (const std::string& path : untracked_in(directory)) {
        std::error_code error;
        if (fs::is_regular_file(fs::symlink_status(fs::path(top) / path, error)))
          call.untracked[path] = digest_of_file(fs::path(top) / path);
      }
      call.inputs["the working tree"] = digest_of_tree(top, call.untracked);
    }
  }
  return call;
}

// Finds the files that builds and measured commands write: those that they name, and the untracked
// ones in the user's own working tree. These differ after the first runs. Their changes are not
// changes of the versions.
class OwnFiles {
 public:
  // Looks at the working tree that contains the folder only if it is one of the versions.
  OwnFiles(const AbOptions& options, const Comparison& comparison, std::string directory);
  [[nodiscard]] std::vector<std::string> since() const;

 private:
  [[nodiscard]] std::map<std::string, std::string> look() const;

  const AbOptions& options_;
  const Comparison& comparison_;
  std::string directory_;
  bool has_tree_;
  std::map<std::string, std::string> before_;
};

OwnFiles::OwnFiles(const AbOptions& options, const Comparison& comparison, std::string directory)
    : options_(options),
      comparison_(comparison),
      directory_(std::move(directory)),
      has_tree_(comparison.kind == Kind::folders &&
                std::ranges::any_of(comparison.versions, &Version::is_working_tree)),
      before_(look()) {}

std::vector<std::string> OwnFiles::since() const {
  std::vector<std::string> own;
  for (const auto& [path, state] : look()) {
    const auto before = before_.find(path);
    if (before == before_.end() || before->second != state) own.push_back(path);
  }
  return own;
}

std::map<std::string, std::string> OwnFiles::look() const {
  std::map<std::string, std::string> files;
  const auto add = [&](const std::string& name, const fs::path& path) {
    struct stat status{};
    if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      files[name] = fmt::format("{} {} {} {}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                                status.st_mtim.tv_nsec);
  };
  for (const auto& [name, path] : files_of(options_, comparison_, directory_)) add(name, path);
  if (!has_tree_) return files;
  const fs::path top = top_of(directory_, directory_);
  for (const std::string& path : untracked_in(directory_)) add(path, top / path);
  return files;
}

Result<void> write_begun(const std::string& folder, const Begun& begun) {
  const Fd file(
      open((folder + "/" + ab_mark).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return fail_errno(fmt::format("cannot write {}/{}", folder, ab_mark));
  return write_all(file.get(), protocol::to_text(begun, 1));
}

void forget_begun(const std::string& folder) {
  unlink((folder + "/" + ab_mark).c_str());
}

struct Interrupted {
  std::string folder;  // the folder of its database
  Begun begun;
};

// Finds a run of the same command, whose inputs may differ: in the folder `wanted`, or if that is
// "", the newest of the user's runs that no process uses.
std::optional<Interrupted> find_interrupted(const std::string& wanted, const Call& call) {
  const auto folders = wanted.empty() ? interrupted_runs() : std::vector<std::string>{wanted};
  for (const std::string& folder : folders)
    if (auto begun = read_begun(folder); begun && begun->call.command == call.command)
      return Interrupted{.folder = folder, .begun = std::move(*begun)};
  return std::nullopt;
}

// Why the command cannot continue the run; "" if it can.
std::string why_anew(const Interrupted& found, const Call& call) {
  const auto is_own = [&](const std::string& path) {
    return std::ranges::find(found.begun.own_files, path) != found.begun.own_files.end();
  };
  for (const auto& [name, value] : call.inputs) {
    const auto before = found.begun.call.inputs.find(name);
    if ((before == found.begun.call.inputs.end() || before->second != value) && !is_own(name))
      return one_line(name, 100) + " has changed";
  }
  for (const auto& [name, value] : found.begun.call.inputs)
    if (!call.inputs.contains(name) && !is_own(name)) return one_line(name, 100) + " is gone";
  for (const auto& [path, digest] : call.untracked) {
    const auto before = found.begun.call.untracked.find(path);
    if (before == found.begun.call.untracked.end() && !is_own(path))
      return one_line(path, 100) + " is new in the working tree";
    if (before != found.begun.call.untracked.end() && before->second != digest && !is_own(path))
      return one_line(path, 100) + " has changed";
  }
  for (const auto& [path, digest] : found.begun.call.untracked)
    if (!call.untracked.contains(path) && !is_own(path)) return one_line(path, 100) + " is gone";
  if (!found.begun.work.empty() && !is_work_folder(found.begun.work))
    return fmt::format("the builds in {} are gone", one_line(found.begun.work, 200));
  return "";
}

// How much of the run's time for trials is left, according to its database.
nanoseconds time_left(const Interrupted& found) {
  nanoseconds used{0};
  if (const auto stored = open_stored(found.folder))
    if (const auto rows = stored->reader->experiments(); rows && !rows->intact.empty())
      used = nanoseconds(rows->intact.back().duration_ns.value_or(0));
  return std::max(found.begun.time - used, nanoseconds(0));
}

constexpr std::uint64_t most_blocks = 5000;

bool is_readable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) == 1;
}

// The number of runs of versions in each round, and of the control.
std::uint64_t runs_in_round(const Comparison& comparison) {
  return comparison.versions.size() + (comparison.control ? 1 : 0);
}

// The pace of rounds of which one in five has a plain trial.
Pace pace_with_plain_trials(const Comparison& comparison, Pace pace) {
  pace.round += pace.round / (plan::blocks_for_plain * runs_in_round(comparison));
  return pace;
}

Result<void> fit_into(Comparison& comparison, const Pace& pace, nanoseconds budget) {
  std::uint64_t blocks = rounds_within(budget, pace);
  // With fewer rounds, plain trials would cost time and tell nothing.
  const std::uint64_t with_plain = rounds_within(budget, pace_with_plain_trials(comparison, pace));
  comparison.cost = comparison.cost && has_own_layouts(comparison) &&
                    with_plain >= plan::blocks_for_plain * plan::least_plain_trials;
  if (comparison.cost) blocks = with_plain;
  if (blocks < fewest_rounds)
    return wrong_call(fmt::format(
        "each round takes {}, so the budget of {} is not enough for {} rounds: use --budget {}",
        format_duration(pace.round), format_duration(budget), fewest_rounds,
        fmt::format(
            "{}s",
            std::chrono::ceil<std::chrono::seconds>((fewest_rounds + 2) * pace.round).count())));
  comparison.blocks = std::min(blocks, most_blocks);
  comparison.timeout = most_of(pace);
  return {};
}

Result<Compared> what_was_compared(const Comparison& comparison, const Stored& stored,
                                   store::Id id) {
  Compared result;
  for (const Version& each : comparison.versions) result.versions.push_back(each.name);
  if (comparison.control) result.control = name_of_control(comparison);
  if (!comparison.heap) result.why_no_heap = comparison.why_no_heap;
  result.heap_cost = heap_remark(comparison);
  result.padded = comparison.pads;
  result.built = comparison.kind == Kind::folders;
  result.why_no_pads = comparison.why_no_pads;
  const auto read = stored.reader->for_each_trial(id, [&](const store::Trial& trial) {
    const auto version = trial.levels.find("version");
    if (!trial.last || trial.warmup || version == trial.levels.end()) return true;
    TrialsOf& of = result.trials[version->second];
    if (trial.status != store::TrialStatus::ok) {
      if (of.lost++ == 0) of.why = one_line(trial.reason, 200);
      return true;
    }
    ++of.ok;
    of.moved += trial.layout.random_code.value_or(false) ? 1 : 0;
    of.printed.insert(trial.stdout_sha256);
    if (const auto size = store::number_of(trial, plan::code_size);
        size && size->status == counters::Status::counted)
      if (const auto* bytes = std::get_if<std::int64_t>(&size->value)) of.code.insert(*bytes);
    return true;
  });
  if (!read) return fail(read.error().message);
  return result;
}

// An interrupted run may have saved its plan already.
Result<void> save_plan(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  std::error_code error;
  const bool is_there = fs::exists(path, error);
  if (is_there && read_file(path, plan::max_plan_bytes).value_or("") == text) return {};
  if (is_there)
    return wrong_call(
        fmt::format("--save: the file {} exists already: choose another name, or remove it", path));
  if (auto written = write_output(text, path, Colours::none); !written) return written;
  tell("the plan is " + path);
  return {};
}

// "" if every version loaded the libraries of its own build.
std::string wrong_libraries(const Comparison& comparison) {
  return said(comparison.foreign_libraries, comparison.versions.size());
}

struct Answered {
  Analysed analysed;
  Conclusion conclusion;
  Ending ending;
  bool time_ended_it = false;  // there are fewer rounds than planned
};

// Says in rounds why the trials ended early. The experiment's reason says it in blocks, and doesn't
// know that the first runs are a part of the budget.
std::string why_ended(const store::Experiment& experiment, const report::Document& document,
                      const Comparison& comparison, nanoseconds budget) {
  // On several machines, a block is not a round.
  if (!experiment.stopped_by || !document.stopping || document.analysis.spec.machines)
    return experiment.reason;
  const report::Stopping& stopping = *document.stopping;
  if (*experiment.stopped_by == store::StopCause::rule)
    return fmt::format("stopped after {} of at most {} rounds: {}", stopping.blocks, stopping.most,
                       comparison.versions.size() == 2 ? "the comparison is decided"
                                                       : "all comparisons are decided");
  return fmt::format("the budget of {} allowed only {} of {} rounds; the first runs took {} of it",
                     format_duration(budget), stopping.blocks, stopping.most,
                     format_duration(budget - comparison.time));
}

Result<Answered> answers_of(const Ran& ran, const Comparison& comparison, nanoseconds budget) {
  auto analysed = analyse_stored(ran.state, ran.id);
  if (!analysed) return std::unexpected(analysed.error());
  const auto compared = what_was_compared(comparison, analysed->stored, ran.id);
  if (!compared) return std::unexpected(compared.error());
  Answered result{.analysed = std::move(*analysed), .conclusion = {}, .ending = {}};
  const store::Experiment& experiment = result.analysed.experiment;
  const report::Document& document = result.analysed.document;
  result.time_ended_it = experiment.stopped_by == store::StopCause::time;
  result.conclusion = conclude(document, *compared);
  result.analysed.document.reason = why_ended(experiment, document, comparison, budget);
  result.analysed.document.layouts.period_is_chosen = true;
  // A version that gets no verdict has none in tables and on the page either.
  for (const Line& line : result.conclusion.lines)
    for (stats::Effect& effect : result.analysed.document.analysis.effects)
      if ((line.verdict == "none" || line.taken_back) && effect.level == line.version)
        effect.verdict = stats::Verdict::unsure;
  if (std::string why = wrong_libraries(comparison); !why.empty()) {
    auto& notes = result.analysed.document.analysis.notes;
    notes.insert(notes.begin(), std::move(why));
  }
  result.ending = result.analysed.ending();
  result.ending.findings = result.conclusion.findings;
  return result;
}

json json_of(const Line& line) {
  return {{"version", line.version}, {"verdict", line.verdict}, {"sentence", line.sentence}};
}

json json_of(const Control& control) {
  json result = json_of(control.line);
  result["can_tell"] = control.can_tell ? json(*control.can_tell) : json();
  result["trusted"] = control.can_tell.has_value();
  result["reach"] = control.reach ? json(*control.reach) : json();
  return result;
}

report::HeapLayer heap_of(const Comparison& comparison) {
  return {.drawn = comparison.heap,
          .why_not = comparison.heap ? "" : comparison.why_no_heap,
          .changes = comparison.heap_changes.clause,
          .cost = comparison.heap_cost};
}

json libraries_of(const Comparison& comparison) {
  json found = json::array();
  for (const ForeignLibrary& each : comparison.foreign_libraries)
    found.push_back({{"version", each.version},
                     {"library", each.library},
                     {"program", each.program},
                     {"loaded", each.loaded}});
  return found;
}

Result<void> show_json(const Answered& answered, const Comparison& comparison, const Ran& ran) {
  const Conclusion& conclusion = answered.conclusion;
  json versions = json::array();
  for (const Version& each : comparison.versions)
    versions.push_back({{"name", each.name}, {"text", each.said}});
  json lines = json::array();
  for (const Line& each : conclusion.lines) lines.push_back(json_of(each));
  return write_json(
      json{{"versions", versions},
           {"conclusions", lines},
           {"control", conclusion.control ? json_of(*conclusion.control) : json()},
           {"regressed", conclusion.findings.regressed},
           {"unsure", conclusion.findings.unsure},
           {"randomized", conclusion.randomized},
           {"heap", report::heap_json(heap_of(comparison))},
           {"foreign_libraries", libraries_of(comparison)},
           {"code", conclusion.code.empty() ? json() : json("Code: " + conclusion.code)},
           {"same_output", conclusion.same_output ? json(*conclusion.same_output) : json()},
           {"state", ran.state},
           {"interrupted", ran.signal != 0},
           {"report", report::json_value(answered.analysed.document)}}
          .dump(2, ' ', false, json::error_handler_t::replace));
}

Result<void> show(const Answered& answered, const Comparison& comparison, bool markdown) {
  const Conclusion& conclusion = answered.conclusion;
  const report::Document& document = answered.analysed.document;
  const std::string answer = fmt::format("{}", fmt::join(conclusion.sentences(), "\n"));
  std::string text =
      (markdown
           ? as_markdown(document, conclusion)
           : report::text(document,
                          {.colour = wants_colour(),
                           .full = true,
                           .width = report::fitting(terminal_width().value_or(report::page_width)),
                           .answer = answer})) +
      "\n";
  for (const Version& each : comparison.versions)
    text += fmt::format("{}{}: {}\n", markdown ? "- " : "", each.name, one_line(each.said, 500));
  // The full report says it elsewhere.
  if (const std::string cost = report::cost_text(document); markdown && !cost.empty())
    text += fmt::format("- {}\n", cost);
  // The full report has a note about them.
  if (const std::string why = wrong_libraries(comparison); markdown && !why.empty())
    text += fmt::format("- warning: {}\n", why);
  text += "\n" + conclusion.randomized + "\n";
  if (!conclusion.code.empty()) text += "Code: " + conclusion.code + "\n";
  if (conclusion.same_output == false)
    text += "The versions print different output: do they do the same work?\n";
  return write_output(text, "", Colours::ours);
}

bool are_built_by_szc(const report::Layouts& layouts) {
  const std::uint64_t all = layouts.randomized + layouts.unrandomized + layouts.without_runtime;
  return layouts.random_code == all || !layouts.why_in_place.empty();
}

std::string built_by(const report::Layouts& layouts) {
  if (are_built_by_szc(layouts))
    return "szc and szc++ use clang; other compilers may produce other code";
  // libstabheap.so counts as a runtime, too, but it moves no code.
  return layouts.random_code == 0
             ? "szc built none of the versions: does each build use $CC and $CXX, which stabctl "
               "sets?"
             : "szc built only some of the versions: does each build use $CC and $CXX, which "
               "stabctl sets?";
}

// Shows the answer, the reasons to trust it or not, one table, and the next step.
Result<void> show_screen(const Answered& answered, const Comparison& comparison, const Ran& ran) {
  const Conclusion& conclusion = answered.conclusion;
  const report::Document& document = answered.analysed.document;
  report::Screen screen = report::screen_of(document);
  screen.title.clear();
  for (const Version& each : comparison.versions)
    screen.title += fmt::format("{}{}", screen.title.empty() ? "" : " or ", each.name);
  screen.title += ran.signal == 0 ? "?" : "? (interrupted: the results so far)";
  screen.question.clear();
  screen.answer = conclusion.sentences();
  // The conclusion already has the report's facts about the control and what was random, and, in
  // words of versions, about outputs.
  std::erase_if(screen.trust, [&](const auto& each) {
    return each.label == "Control" || each.label == "Random" ||
           (each.label == "Output" && conclusion.same_output == false);
  });
  constexpr std::ptrdiff_t first = 1;  // behind the trials
  screen.trust.insert(screen.trust.begin() + first, {"Random", conclusion.random, true});
  // The document may name the compiler. If it doesn't, this may wait unless something is wrong.
  if (comparison.kind == Kind::folders && document.compiler.empty()) {
    const bool is_right = are_built_by_szc(document.layouts);
    screen.trust.insert(is_right ? screen.trust.end() : screen.trust.begin() + first + 1,
                        {"Compiler", built_by(document.layouts), !is_right, false});
  }
  // The screen has no room to say this a second time, in a note.
  if (const std::string why = wrong_libraries(comparison); !why.empty()) {
    std::erase(screen.notes, why);
    screen.trust.insert(screen.trust.begin(), {"Library", why, true});
  }
  // Versions that do different work are not worth comparing, so this comes first.
  if (conclusion.same_output == false)
    screen.trust.insert(
        screen.trust.begin(),
        {"Output", "the versions print different output: do they do the same work?"});
  // The database doesn't have these two.
  if (!conclusion.code.empty())
    screen.trust.push_back({.label = "Code", .text = conclusion.code, .is_in_full = false});
  std::string said;
  for (const Version& each : comparison.versions)
    if (each.said != each.name && each.said.size() <= 300)
      said += fmt::format("{}{} is {}", said.empty() ? "" : "; ", each.name, each.said);
  if (!said.empty())
    screen.trust.push_back({.label = "Versions", .text = said, .is_in_full = false});
  if (!answered.analysed.document.causes.empty())
    screen.next = fmt::format("stabctl logs {} --folder {} shows the output of failed trials",
                              ran.id, shell_quote(ran.state));
  if (ran.signal != 0)
    screen.next = fmt::format("for all details: stabctl report --full {} --folder {}", ran.id,
                              shell_quote(ran.state));
  return write_output(
      report::shown(screen,
                    {.colour = wants_colour(),
                     .width = report::fitting(terminal_width().value_or(report::page_width))}),
      "", Colours::ours);
}

// Restores the decisions that an interrupted run made before its first trial.
void recall(const Begun& begun, Comparison& comparison) {
  comparison.heap = begun.heap;
  comparison.why_no_heap = begun.why_no_heap;
  comparison.heap_cost = begun.heap_cost;
  comparison.heap_changes = begun.heap_changes;
  comparison.pads = begun.pads;
  comparison.why_no_pads = begun.why_no_pads;
  comparison.time = begun.time;
  comparison.foreign_libraries = begun.foreign_libraries;
}

// Builds the versions, makes the first runs and plans the experiment, all from the beginning.
Result<Begun> begin_anew(const AbOptions& options, const Call& call, const std::string& directory,
                         nanoseconds budget, int stop_fd, Comparison& comparison,
                         WorkFolder& work) {
  if (std::error_code error; !options.save.empty() && fs::exists(options.save, error))
    return wrong_call(fmt::format(
        "--save: the file {} exists already: choose another name, or remove it", options.save));
  const OwnFiles own(options, comparison, directory);
  if (auto built = build_versions(options, comparison, work, stop_fd); !built) {
    // The error names the log of a failed build.
    if (!is_readable(stop_fd)) work.keep();
    return std::unexpected(built.error());
  }
  comparison.compiler = compiler_of_builds(options, comparison, stop_fd);
  const auto began = std::chrono::steady_clock::now();
  auto pace = first_runs(comparison, {.directory = directory, .stop_fd = stop_fd}, budget);
  if (!pace) return std::unexpected(pace.error());
  if (const std::string why = wrong_libraries(comparison); !why.empty()) tell("warning: " + why);
  *pace = pace_of_trials(comparison, *pace);
  if (auto fits = fit_into(comparison, *pace, budget); !fits) return std::unexpected(fits.error());
  // A fixed budget: if the program or the machine becomes slower, the run does not take longer.
  comparison.time = budget - (std::chrono::steady_clock::now() - began);
  tell(
      fmt::format("a round of runs takes {}; at most {} rounds run within the budget of {}, after "
                  "one warm-up round, which the progress below counts, too",
                  format_duration(pace->round), comparison.blocks, format_duration(budget)));
  Begun begun{.call = call,
              .own_files = own.since(),
              .plan = plan_of(comparison),
              .work = work.path(),
              .time = comparison.time,
              .heap = comparison.heap,
              .why_no_heap = comparison.why_no_heap,
              .heap_cost = comparison.heap_cost,
              .heap_changes = comparison.heap_changes,
              .pads = comparison.pads,
              .why_no_pads = comparison.why_no_pads,
              .foreign_libraries = comparison.foreign_libraries};
  return begun;
}

// Fails if the folder that the user names has a run that this command must not touch: one that goes
// on now, or an unfinished one that is not `found`.
Result<void> check_folder(const std::string& folder, bool is_continued) {
  if (folder.empty()) return {};
  if (is_in_use(folder))
    return wrong_call(fmt::format(
        "another command uses the folder {}: wait until it ends, or choose another --folder",
        shell_quote(folder)));
  std::error_code error;
  if (is_continued || !fs::exists(folder + "/stabd.db", error)) return {};
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto rows = stored->reader->experiments();
  if (!rows) return fail(rows.error().message);
  for (const store::Experiment& each : rows->intact)
    if (each.ended_ns == 0)
      return wrong_call(fmt::format(
          "the folder {} holds an unfinished run of another command ({}): repeat that command to "
          "finish it, or choose another --folder",
          shell_quote(folder), one_line(each.name, 100)));
  return {};
}

// Returns `found`, an interrupted run of the same command, if the command can continue it, and says
// what happens.
std::optional<Interrupted> to_go_on_with(const AbOptions& options, const Call& call,
                                         const std::optional<Interrupted>& found) {
  if (!found) return std::nullopt;
  if (const std::string why = why_anew(*found, call); !why.empty()) {
    tell(fmt::format(
        "the same command was interrupted before; now it starts from the beginning, because {}",
        why));
    return std::nullopt;
  }
  tell(
      fmt::format("the same command was interrupted before; it continues with the remaining {} of "
                  "its budget of {}",
                  format_duration(time_left(*found)), options.budget));
  if (!found->begun.own_files.empty())
    tell(
        fmt::format("changes to the following files are ignored, because the measured command "
                    "writes them: {}",
                    one_line(fmt::format("{}", fmt::join(found->begun.own_files, ", ")), 300)));
  return found;
}

// Forgets an interrupted run, whose place the run in `folder` takes.
void forget(const Interrupted& replaced, const std::string& folder) {
  if (replaced.folder != folder) {
    forget_begun(replaced.folder);
    mark_ended({.path = replaced.folder, .claim = Fd()});
  }
  WorkFolder of_earlier(false);  // removes the earlier run's builds
  if (is_work_folder(replaced.begun.work)) of_earlier.adopt(replaced.begun.work);
}

// Hides a new folder that the user names from git, and so from later comparisons of the working tree
// that it may be in.
void hide_from_git(const std::string& folder) {
  std::error_code error;
  if (fs::is_empty(folder, error) && !error) std::ofstream(folder + "/.gitignore") << "*\n";
}

// Says once, while the versions are measured, that the budget will not settle the comparison.
class Outlook {
 public:
  Outlook(const plan::Plan& plan, const Comparison& comparison);
  std::string operator()(const protocol::Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  SoFar planned_;                    // nothing is done yet
  std::optional<nanoseconds> time_;  // for all rounds
  double in_round_;                  // trials, on average
  std::optional<Clock::time_point> since_{};
  std::uint64_t done_then_ = 0;  // trials
  std::string look_{};           // the last one
  bool has_told_ = false;
};

Outlook::Outlook(const plan::Plan& plan, const Comparison& comparison)
    : planned_{.most = plan.design.stop ? plan.design.stop->max : 0,
               .limit = most_blocks,
               .margin = plan.analysis.equivalence.value_or(0),
               .response = comparison.response},
      time_(plan.design.time),
      in_round_(static_cast<double>(runs_in_round(comparison)) +
                (plan.analysis.cost ? 1.0 / plan::blocks_for_plain : 0)) {}

std::string Outlook::operator()(const protocol::Progress& progress) {
  const std::uint64_t done = progress.done.value_or(0);
  if (has_told_ || progress.state != "running") return "";
  const auto now = Clock::now();
  if (!since_) {
    since_ = now;
    done_then_ = done;
  }
  const std::string look = progress.look.value_or("");
  if (look == look_ || done == done_then_) return "";
  look_ = look;
  SoFar so_far = planned_;
  const auto rounds = static_cast<std::uint64_t>(static_cast<double>(done) / in_round_ + 0.5);
  so_far.done = std::max<std::uint64_t>(rounds, 2) - 1;  // without the warm-up round
  so_far.round = std::chrono::duration_cast<nanoseconds>(
      (now - *since_) * (in_round_ / static_cast<double>(done - done_then_)));
  if (time_ && so_far.round.count() > 0)
    so_far.most = std::min(so_far.most, static_cast<std::uint64_t>(*time_ / so_far.round));
  std::string text = foresee(progress.changes, so_far);
  has_told_ = !text.empty();
  return text;
}

// Compares the versions. A signal on `stop_fd` ends builds and first runs.
Result<int> ab_until(const AbOptions& options, nanoseconds budget, int stop_fd) {
  if (auto good = check_options(options); !good) return std::unexpected(good.error());
  if (auto good = check_page(options.html); !good) return std::unexpected(good.error());
  std::error_code error;
  const std::string directory = fs::current_path(error).string();
  if (error) return fail("the current folder cannot be read: " + error.message());
  if (auto adopted = machine::adopt_orphans(); !adopted) return std::unexpected(adopted.error());
  WorkFolder work(false);
  auto comparison = comparison_of(options, directory, work);
  if (!comparison) return std::unexpected(comparison.error());
  const Call call = call_of(options, *comparison, directory);
  const auto interrupted_run = find_interrupted(options.state_directory, call);
  if (auto free = check_folder(options.state_directory, interrupted_run.has_value()); !free)
    return std::unexpected(free.error());
  const auto found = to_go_on_with(options, call, interrupted_run);
  const bool begins_anew = interrupted_run && !found;
  Begun begun;
  if (found) {
    begun = found->begun;
    recall(begun, *comparison);
    if (!begun.work.empty()) work.adopt(begun.work);
    work.keep();  // whatever goes wrong now, the next call can continue
  } else {
    auto anew = begin_anew(options, call, directory, budget, stop_fd, *comparison, work);
    if (!anew) return std::unexpected(anew.error());
    begun = std::move(*anew);
  }
  if (auto saved = save_plan(options.save, begun.plan); !saved)
    return std::unexpected(saved.error());
  // A saved plan needs the files that it measures.
  if (!options.save.empty()) work.keep();
  begun.call = call;
  PlanFile plan{.path = "the plan of ab", .directory = directory, .text = begun.plan};
  find_source(plan);
  RunOptions run;
  run.state_directory = options.state_directory;
  run.again = !found;
  run.cancel_others = begins_anew;
  run.follow = options.follow;
  // If the plan has a mistake, run_to_end() says so.
  if (const auto read = plan::read_plan(begun.plan)) run.notice = Outlook(*read, *comparison);
  run.begin = [&](const std::string& folder) -> Result<void> {
    if (!options.state_directory.empty()) hide_from_git(folder);
    if (auto written = write_begun(folder, begun); !written) return written;
    work.keep();
    // Until here, a mistake or a failed build does not cost the earlier run.
    if (begins_anew) forget(*interrupted_run, folder);
    return {};
  };
  const auto ran = run_to_end(plan, run);
  if (!ran) return std::unexpected(ran.error());
  const bool interrupted = ran->signal != 0;
  if (!interrupted) {
    forget_begun(ran->state);
    if (options.save.empty()) work.let_go();
  }
  const auto answered = answers_of(*ran, *comparison, budget);
  const auto show_all = [&]() -> Result<void> {
    if (options.json) return show_json(*answered, *comparison, *ran);
    if (options.markdown || options.full) return show(*answered, *comparison, options.markdown);
    return show_screen(*answered, *comparison, *ran);
  };
  if (interrupted) {
    // If no trial has run yet, there is nothing to show.
    if (answered)
      if (auto shown = show_all(); !shown) return std::unexpected(shown.error());
    tell(
        fmt::format("interrupted: run the same command again to continue with the rest of the "
                    "budget{}. To see the trials so far, run: stabctl report {} --folder {}",
                    begun.work.empty() ? "" : ", and until then the builds remain in " + begun.work,
                    ran->id, shell_quote(ran->state)));
    return exit_interrupted + ran->signal;
  }
  if (!answered) return std::unexpected(answered.error());
  if (auto shown = show_all(); !shown) return std::unexpected(shown.error());
  if (auto page = write_page(answered->analysed, options.html); !page)
    return std::unexpected(page.error());
  // The screen and the full report say it themselves.
  if (answered->time_ended_it && (options.json || options.markdown))
    tell(answered->analysed.document.reason);
  tell_how_to_report(ran->state, ran->id);
  return exit_code(answered->ending, options.fail_on);
}

}  // namespace

void run_beside(AbOptions& options) {
  options.response = counters::relative_cpu;
}

Result<int> compare_versions(const AbOptions& options) {
  const auto budget = parse_duration(options.budget);
  if (!budget || budget->count() <= 0)
    return wrong_call(fmt::format("--budget {}: give a duration, for example 5min or 90s",
                                  one_line(options.budget, 60)));
  // The plan's `time` can't be longer.
  if (*budget > toml::longest_duration)
    return wrong_call(fmt::format("--budget {}: give at most {} hours",
                                  one_line(options.budget, 60), toml::longest_duration.count()));
  const SignalFd signals;
  auto code = ab_until(options, *budget, signals.fd());
  if (code || !is_readable(signals.fd())) return code;
  tell("interrupted before anything was measured");
  return exit_interrupted + signals.take();
}

}  // namespace stab::client::ab
