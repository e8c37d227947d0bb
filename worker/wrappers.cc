// SPDX-License-Identifier: MIT

#include "worker/wrappers.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/shown_files.h"
#include "causal/lines/line_map.h"
#include "causal/run/prepare_program.h"
#include "causal/run/run_program.h"
#include "causal/run/session_file.h"
#include "machine/program.h"
#include "machine/simulator.h"
#include "plan/measures/names.h"
#include "plan/options.h"
#include "stats/causal/run_text.h"

namespace stab::worker {

MemoryFile::MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}

std::string MemoryFile::path() const {
  return is_open() ? path_for_others(fd_.get()) : "";
}

MemoryFile& MemoryFile::reused(const char* name) {
  static std::map<std::string, MemoryFile> files;
  const auto [file, is_new] = files.try_emplace(name, name);
  if (!is_new && !file->second.empty()) file->second = MemoryFile(name);
  return file->second;
}

bool MemoryFile::empty() {
  return is_open() && ftruncate(fd_.get(), 0) == 0 && lseek(fd_.get(), 0, SEEK_SET) == 0;
}

bool MemoryFile::write(std::string_view text) {
  return is_open() && write_all(fd_.get(), text);
}

std::string MemoryFile::read(std::size_t limit) const {
  struct stat status{};
  if (fstat(fd_.get(), &status) != 0) return "";
  std::string text(std::min(limit, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n =
        pread(fd_.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view elf{"\177ELF"};
constexpr std::size_t max_program_bytes = std::size_t{1} << 30;

// Finds the program that the trial executes; "" if it does not exist.
std::string program_of(const protocol::RunRequest& request) {
  // A worker has only one user, and looking the account up takes time between two trials.
  static const std::string usual = machine::base_variables(geteuid()).at("PATH");
  const auto own = request.env.find("PATH");
  const std::string& path = own == request.env.end() ? usual : own->second;
  const std::vector<std::string> environment{"PATH=" + path};
  return machine::find_program(request.argv.front(), environment, request.directory).value_or("");
}

bool is_shell(const std::string& program) {
  constexpr std::array<std::string_view, 6> shells{"sh", "bash", "dash", "zsh", "env", "busybox"};
  return std::ranges::find(shells, fs::path(program).filename().string()) != shells.end();
}

// The path of our library; "" if it is not installed or LD_PRELOAD can't name it.
std::string installed(const char* name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  for (const char* folder : {"../lib/stabd", "../lib"}) {
    const fs::path path = (self.parent_path() / folder / name).lexically_normal();
    if (fs::exists(path, error))
      return path.string().find_first_of(" :") == std::string::npos ? path.string() : "";
  }
  return "";
}

// Everything that szc links has a note of type 1 with our name (runtime/abi/abi.h).
bool is_plain_elf(const std::string& program) {
  constexpr std::string_view note{"\1\0\0\0Stabd\0\0\0", 12};
  const auto file = read_file(program, max_program_bytes);
  return file && file->starts_with(elf) && !file->contains(note);
}

}  // namespace

std::string heap_library() {
  return installed("libstabheap.so");
}

std::string new_library() {
  return installed("libstabnew.so");
}

// Looks for the names by which ELF files refer to a library.
bool names_allocator_with_new(std::string_view text) {
  constexpr std::array<std::string_view, 3> names{"libjemalloc.so", "libtcmalloc", "libmimalloc"};
  return std::ranges::any_of(names, [&](std::string_view name) { return text.contains(name); });
}

bool uses_allocator_with_new(const std::string& file) {
  const auto text = read_file(file, max_program_bytes);
  return text && text->starts_with(elf) && names_allocator_with_new(*text);
}

std::string heap_library_for(const protocol::RunRequest& request) {
  if (!plan::wants_heap(request.options) || request.argv.empty()) return "";
  const std::string program = program_of(request);
  if (program.empty() || is_shell(program) || !is_plain_elf(program)) return "";
  return heap_library();
}

std::string new_library_for(const protocol::RunRequest& request) {
  if (!plan::wants_heap(request.options) || request.argv.empty()) return "";
  const std::string program = program_of(request);
  if (program.empty() || is_shell(program)) return "";
  const auto preload = request.env.find("LD_PRELOAD");
  const bool is_preloaded =
      preload != request.env.end() && names_allocator_with_new(preload->second);
  const auto file = read_file(program, max_program_bytes);
  const bool is_elf = file && file->starts_with(elf);
  return is_elf && (is_preloaded || names_allocator_with_new(*file)) ? new_library() : "";
}

Simulation::Simulation(std::string simulator)
    : simulator_(std::move(simulator)),
      counts_(MemoryFile::reused("counts")),
      log_(MemoryFile::reused("log")) {}

void Simulation::wrap(machine::Launch& launch) const {
  if (!machine::find_program(launch.argv.front(), launch.environment, launch.directory)) return;
  launch.argv = machine::simulated(simulator_, counts_.path(), log_.path(), launch.argv);
}

std::vector<counters::Reading> Simulation::readings(const machine::Ended& ended) const {
  auto readings = machine::simulated_readings(counts_.read(machine::max_counts_bytes),
                                              log_.read(machine::max_simulator_log), ended.pid);
  // Processes that we ended have not written their counts and log.
  if (ended.leftovers > 0)
    for (counters::Reading& each : readings)
      each = counters::absent(
          each.name, each.unit,
          "some processes were not counted, because they outlived the program that started them");
  return readings;
}

void forget_real_runs(protocol::RunReply& reply) {
  reply.wall_ns.reset();
  reply.user_ns.reset();
  reply.system_ns.reset();
  reply.max_rss_bytes.reset();
  for (auto* time : {&reply.layout.main_to_exit_ns, &reply.layout.region_ns, &reply.layout.setup_ns,
                     &reply.layout.epochs_ns, &reply.layout.longest_pause_ns})
    time->reset();
  std::erase_if(reply.readings, [](const counters::Reading& each) {
    return plan::is_of_real_runs(each.name) || each.unit == "ns";
  });
}

namespace {

std::uint64_t ns(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

Result<causal::Settings> settings_of(const protocol::CausalRequest& request,
                                     const causal::LineMap& map) {
  causal::Settings settings{.seed = request.seed,
                            .sample_ns = ns(request.sample_period),
                            .experiment_ns = ns(request.experiment),
                            .arrival_ns = ns(request.arrival_speedup),
                            .is_end_to_end = request.end_to_end};
  if (request.speedup) settings.fixed_speedup = static_cast<std::int32_t>(*request.speedup);
  if (!request.line.empty()) {
    const auto line = find_line(map, request.line);
    if (!line) return fail("'causal.line': " + line.error().message);
    settings.fixed_line = *line;
  }
  for (const std::string& name : request.progress) {
    const auto line = find_line(map, name);
    if (!line) return fail("'causal.progress': " + line.error().message);
    settings.sampled.push_back(*line);
  }
  return settings;
}

// In a plan, the options of 'stabctl causal' are keys.
std::string in_words_of_plans(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> names{
      {{"--scope", "'causal.scope'"}, {"--binary", "'causal.binary'"}}};
  for (const auto& [option, key] : names)
    for (std::size_t at = 0; (at = text.find(option, at)) != std::string::npos; at += key.size())
      text.replace(at, option.size(), key);
  return text;
}

std::string why_useless(const causal::Seen& seen, bool is_end_to_end, bool has_faster_arrivals) {
  if (!seen.has_begun)
    return "libstabcausal.so did not start in the program: the program may have removed LD_PRELOAD "
           "from its environment";
  if (seen.visits == 0 && !is_end_to_end)
    return "no progress point was visited: add STAB_PROGRESS(\"name\") from stabilizer.h where a "
           "piece of work is finished, or use 'causal.progress' or 'causal.end_to_end'";
  if (seen.experiments == 0 && seen.timeless != 0)
    return fmt::format(
        "pauses filled the trial's {} performance experiment{} completely. {}", seen.timeless,
        seen.timeless == 1 ? "" : "s",
        has_faster_arrivals ? "Use a smaller 'causal.arrival_speedup', or smaller levels of "
                              "'factor.arrival_speedup'"
        : is_end_to_end ? "Set 'causal.line' and 'causal.speedup'. If both are set already, make "
                          "'causal.speedup' smaller"
                        : "Give the program more work, or try another 'causal.line'");
  if (seen.experiments == 0)
    return fmt::format(
        "no performance experiment ended: the run lasted {} ms and had {} samples. Give the "
        "program more work, or shorten 'causal.experiment'",
        seen.duration_ns / 1'000'000, seen.samples);
  return "";
}

}  // namespace

CausalRun::CausalRun(const protocol::CausalRequest& request, std::string library,
                     std::shared_ptr<const causal::LineMap> map, causal::SessionFile session)
    : library_(std::move(library)),
      map_(std::move(map)),
      session_(std::move(session)),
      is_end_to_end_(request.end_to_end),
      has_faster_arrivals_(request.arrival_speedup.count() != 0) {}

Result<std::optional<CausalRun>> CausalRun::prepare(
    const std::optional<protocol::CausalRequest>& wanted, causal::Programs* programs,
    const machine::Launch& launch) {
  if (!wanted) return std::nullopt;
  const protocol::CausalRequest& request = *wanted;
  assert(programs != nullptr);
  auto program = programs->prepare({.word = launch.argv.front(),
                                    .scope = request.scope,
                                    .binaries = request.binaries,
                                    .directory = launch.directory,
                                    .environment = launch.environment,
                                    .below = request.tree.empty() ? launch.directory : request.tree,
                                    .tree = request.tree});
  if (!program) return fail(in_words_of_plans(program.error().message));
  const auto settings = settings_of(request, *program->map);
  if (!settings) return std::unexpected(settings.error());
  auto session = causal::SessionFile::make(*program->map, *settings);
  if (!session) return std::unexpected(session.error());
  return CausalRun(request, programs->library(), std::move(program->map), *std::move(session));
}

void CausalRun::wrap(machine::Launch& launch) const {
  launch.environment = causal::profiled(launch.environment, library_, session_);
}

std::string CausalRun::take(const machine::Ended& ended, protocol::RunReply& reply) const {
  stats::causal::Profile profile;
  const causal::Seen seen = add_run(
      session_.layout(), map_->lines, is_end_to_end_, session_.bytes(),
      {.passed_ns = ns(ended.wall), .by_itself = ended.how == machine::End::exited}, profile);
  if (std::string why = why_useless(seen, is_end_to_end_, has_faster_arrivals_); !why.empty())
    return why;
  std::string text = stats::causal::run_text(profile);
  if (text.size() > store::most_causal_bytes)
    return fmt::format(
        "the results of the trial's {} performance experiments need {} bytes, but stabd stores at "
        "most {}: increase 'causal.experiment', so that there are fewer, longer experiments",
        seen.experiments, text.size(), store::most_causal_bytes);
  reply.causal = std::move(text);
  return "";
}

}  // namespace stab::worker
