// SPDX-License-Identifier: MIT

#include "stabd/reader/reader_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "design/trial_list.h"
#include "machine/containment.h"
#include "machine/processes.h"
#include "machine/quiet/quiet.h"
#include "plan/reading/read_plan.h"
#include "protocol/codec.h"
#include "protocol/document.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "protocol/reading.h"
#include "results/answers.h"
#include "results/calibrations.h"
#include "results/document.h"
#include "results/export.h"
#include "results/profiles.h"
#include "results/report_page.h"
#include "results/run_request.h"
#include "revisions/of_plan.h"
#include "stabd/archive.h"
#include "store/reader.h"
#include "toml/value.h"

namespace stab::reader {

// The file that has the request and gets the answer.
class AnswerFile {
 public:
  explicit AnswerFile(int file) : file_(file) {}

  // Returns the text that the daemon wrote, without the newline at its end.
  Result<std::string> request();
  // Empties the file.
  Result<void> begin();
  Result<void> add(std::string_view piece);
  // Adds a message whose last text is empty, and fills this text with what `inside` adds.
  Result<void> add_around(std::string_view message, const std::function<Result<void>()>& inside);
  // Ends the line and writes all of it to the file.
  Result<void> end();

 private:
  Result<void> flush();

  int file_;
  std::string waiting_;
};

// Writes the line without its newline. After an error the file does not hold an answer.
Result<void> answer(store::Reader& store, const protocol::ReadRequest& request, AnswerFile& file);

// Answers requests about an archive, which open the files that they need themselves. An archive
// that a client sent is read with the client's rights, see only_use_open_files().
bool is_of_archive(protocol::Reading reading);
Result<void> answer_of_archive(const protocol::ReadRequest& request, AnswerFile& file);

// Answers the line with which a client submits a plan.
Result<void> answer_of_plan(const protocol::ReadRequest& request, std::string_view line,
                            AnswerFile& file);

// Answers with the notice command of this plan.
Result<void> answer_of_notice(std::string_view plan, AnswerFile& file);

namespace {

// Sanitizers use terabytes of address space.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool bounds_memory = false;
#else
constexpr bool bounds_memory = true;
#endif

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

void set(int what, std::uint64_t soft, std::uint64_t hard) {
  const rlimit limit{soft, hard};
  setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

// Does nothing under sanitizers, which need many more system calls.
Result<void> allow_only(std::span<const long> calls) {
  if (!bounds_memory) return {};
#if defined(__x86_64__)
  constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif
  constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, refused),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, refused));
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return {};
  return fail_errno("cannot restrict system calls");
}

}  // namespace

// In JSON a byte of a text takes up to six, and a row also has the names of its columns.
Bounds bounds_for(std::uint64_t bytes_of_file) {
  return {.memory = 512 * mib,
          .cpu = std::chrono::seconds(60 + bytes_of_file / mib),
          .written = 8 * bytes_of_file + 64 * mib};
}

void keep_within(const Bounds& bounds) {
  if (bounds_memory) set(RLIMIT_AS, bounds.memory, bounds.memory);
  const auto seconds = static_cast<std::uint64_t>(bounds.cpu.count());
  set(RLIMIT_CPU, seconds, seconds + 1);
  signal(SIGXFSZ, SIG_IGN);
  set(RLIMIT_FSIZE, bounds.written, bounds.written);
}

namespace {

Result<void> give_up_rights(std::uint32_t uid, std::uint32_t gid) {
  // A plan or archive that takes this process over gets no stream of ours to write to or to empty.
  const Fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (!nowhere || dup2(nowhere.get(), stream) < 0)
      return fail_errno("cannot redirect a stream to /dev/null");
  // The change of rights makes the kernel forget that this process dies with its parent.
  const pid_t parent = getppid();
  if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setresgid(gid, gid, gid) != 0 ||
                         setresuid(uid, uid, uid) != 0))
    return fail_errno("cannot switch to the user's rights");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
    return fail("the process that started this one has ended");
  if (!machine::give_up_privileges()) return fail_errno("cannot drop privileges");
  return {};
}

constexpr auto computing = std::to_array<long>(
    {SYS_read,   SYS_write,     SYS_pread64,       SYS_lseek,        SYS_ftruncate,      SYS_close,
     SYS_mmap,   SYS_munmap,    SYS_mremap,        SYS_mprotect,     SYS_madvise,        SYS_brk,
     SYS_futex,  SYS_getrandom, SYS_clock_gettime, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_gettid,
     SYS_getpid, SYS_tgkill,    SYS_exit,          SYS_exit_group,   SYS_restart_syscall});
// SQLite's own, for a database that is open and only read. libc asks for a file's size with
// newfstatat().
constexpr auto reading_databases = std::to_array<long>({SYS_fcntl, SYS_fstat, SYS_newfstatat});

}  // namespace

Result<void> only_compute(std::uint32_t uid, std::uint32_t gid) {
  if (auto given_up = give_up_rights(uid, gid); !given_up) return given_up;
  return allow_only(computing);
}

Result<void> only_use_open_files(std::uint32_t uid, std::uint32_t gid) {
  if (auto given_up = give_up_rights(uid, gid); !given_up) return given_up;
  std::vector<long> calls(computing.begin(), computing.end());
  calls.insert(calls.end(), reading_databases.begin(), reading_databases.end());
  return allow_only(calls);
}

namespace {

constexpr std::size_t enough = std::size_t{1} << 18;
constexpr std::size_t max_request = std::size_t{16} << 20;

}  // namespace

Result<std::string> AnswerFile::request() {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read the request");
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > max_request) return fail("the request is too long");
  }
  if (!text.ends_with('\n')) return fail("the request is not complete");
  text.pop_back();
  return text;
}

Result<void> AnswerFile::begin() {
  waiting_.clear();
  if (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) != 0)
    return fail_errno("cannot empty the answer's file");
  return {};
}

Result<void> AnswerFile::add(std::string_view piece) {
  waiting_ += piece;
  return waiting_.size() < enough ? Result<void>() : flush();
}

Result<void> AnswerFile::add_around(std::string_view message,
                                    const std::function<Result<void>()>& inside) {
  const std::size_t place = message.rfind('"');
  if (auto added = add(message.substr(0, place)); !added) return added;
  if (auto added = inside(); !added) return added;
  return add(message.substr(place));
}

Result<void> AnswerFile::end() {
  waiting_ += '\n';
  return flush();
}

Result<void> AnswerFile::flush() {
  if (auto written = write_all(file_, waiting_); !written)
    return fail("the answer cannot be stored: " + written.error().message +
                "; free some space where stabd keeps its state");
  waiting_.clear();
  return {};
}

namespace {

using protocol::Reading;
using protocol::ReadRequest;

// The client's request for a report or a comparison, without the ids.
template <class Request>
Request asked_in(const ReadRequest& request) {
  return {.format = request.format,
          .colour = request.colour,
          .full = request.full,
          .response = request.response,
          .better = request.better,
          .width = request.width};
}

Result<void> report(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto reply =
      results::answer_any_report(store, request.experiments.front(), request.database,
                                 asked_in<protocol::ReportRequest>(request));
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

Result<void> compare(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto reply = results::answer_compare(store, request.experiments,
                                             asked_in<protocol::CompareRequest>(request));
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

Result<void> document(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  auto made = results::make_document(store, request.experiments.front(), request.database,
                                     {.response = request.response,
                                      .better = request.better,
                                      .machines_as_one = request.machines_as_one});
  if (!made) return std::unexpected(made.error());
  return file.add(protocol::encode(protocol::ResultsReply{.document = std::move(*made)}));
}

// Writes an ExportReply piece by piece, because all of it may be larger than the memory.
Result<void> write_export(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto add = [&](std::string_view piece) {
    const std::string quoted = protocol::dump(piece);
    return file.add(std::string_view(quoted).substr(1, quoted.size() - 2));
  };
  return file.add_around(protocol::encode(protocol::ExportReply()), [&] {
    return results::write_export(store, request.experiments.front(),
                                 {.format = request.format, .cell = request.cell}, add);
  });
}

Result<void> replay(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  auto reply = results::answer_replay(store, request.experiments.front(), request.cache,
                                      {.position = request.position, .attempt = request.attempt});
  if (!reply) return std::unexpected(reply.error());
  reply->marked = request.marked;
  return file.add(protocol::encode(*reply));
}

Result<void> profile(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  if (!request.profile) return fail("the request names no profile");
  const auto reply = results::answer_profile(store, request.experiments.front(), *request.profile);
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

Result<void> logs(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto reply = results::answer_logs(store, request.experiments.front(), request.after);
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

protocol::LookReply look(store::Reader& store, const ReadRequest& request) {
  const store::Experiment& experiment = request.experiments.front();
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan || !plan->design.stop) return {.error = "the plan has no stopping rule"};
  const auto look = results::look_at_trials(store, experiment, *plan, request.blocks);
  if (!look) return {.error = look.error().message, .temporary = look.error().temporary};
  return {.stop = look->stop, .words = look->words, .changes = look->changes};
}

protocol::FindingsReply failed(const store::StoreError& error) {
  return {.error = error.message, .temporary = error.temporary};
}

protocol::FindingsReply verify(store::Reader& store, std::optional<store::Id> experiment) {
  auto damage = store.verify(experiment);
  if (!damage) return failed(damage.error());
  protocol::FindingsReply reply{.damaged = damage->size()};
  damage->resize(std::min(damage->size(), protocol::most_damage_shown));
  reply.damage = std::move(*damage);
  return reply;
}

// Adds nothing if the experiment has no report; asking for that one says why.
void judge_nodes(store::Reader& store, const store::Experiment& experiment,
                 protocol::FindingsReply& reply) {
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan || plan->machine_count() == 1) return;
  const auto document = results::make_document(store, experiment, "", {});
  if (!document) return;
  reply.has_judged = !document->analysis.spec.machine_kind.empty();
  for (const stats::SlowMachine& each : document->analysis.slow_machines)
    reply.slow_nodes.push_back({.name = each.name, .times = each.times});
}

protocol::FindingsReply finish(store::Reader& store, const store::Experiment& experiment) {
  protocol::FindingsReply reply = verify(store, experiment.id);
  if (!reply.error.empty() || reply.damaged > 0) return reply;
  auto rows = results::calibration_of(store, experiment);
  if (!rows) return failed(rows.error());
  reply.calibrations = std::move(*rows);
  judge_nodes(store, experiment, reply);
  return reply;
}

}  // namespace

Result<void> answer(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  if (request.reading == Reading::verify)
    return file.add(protocol::encode(verify(store, std::nullopt)));
  if (request.experiments.empty()) return fail("the request names no experiment");
  for (const store::Experiment& each : request.experiments)
    if (const auto found = store.experiment(each.id); found && !*found)
      return fail(fmt::format("experiment {} was removed meanwhile", each.id));
  switch (request.reading) {
    case Reading::report:
      return report(store, request, file);
    case Reading::compare:
      return compare(store, request, file);
    case Reading::results:
      return document(store, request, file);
    case Reading::replay:
      return replay(store, request, file);
    case Reading::profile:
      return profile(store, request, file);
    case Reading::logs:
      return logs(store, request, file);
    case Reading::look:
      return file.add(protocol::encode(look(store, request)));
    case Reading::finish:
      return file.add(protocol::encode(finish(store, request.experiments.front())));
    default:
      return write_export(store, request, file);
  }
}

namespace {

constexpr std::size_t at_once = std::size_t{3} << 16;

Result<void> write_text(const std::string& path, AnswerFile& answer) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot read the archive");
  for (;;) {
    const auto piece = read_piece(file, at_once);
    if (!piece) return std::unexpected(piece.error());
    if (piece->empty()) return {};
    if (auto added = answer.add(to_base64(*piece)); !added) return added;
  }
}

}  // namespace

bool is_of_archive(Reading reading) {
  return reading == Reading::archive || reading == Reading::import;
}

Result<void> answer_of_archive(const ReadRequest& request, AnswerFile& file) {
  if (request.reading == Reading::import) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(request.file, error);
    if (error) return fail("cannot read the archive: " + error.message());
    keep_within(bounds_for(bytes));
    auto taken = archive::take_apart(
        request.file, {.uid = request.uid, .gid = request.gid, .name = request.name}, request.parts,
        [&request] { return only_use_open_files(request.uid, request.gid); });
    return taken ? file.add(protocol::encode(protocol::FindingsReply())) : taken;
  }
  if (request.experiments.empty()) return fail("the request names no experiment");
  auto made = archive::write(request.database, request.experiments.front().id, request.file);
  if (!made) return made;
  return file.add_around(protocol::encode(protocol::ExportReply()),
                         [&] { return write_text(request.file, file); });
}

// Reads a submitted plan in a process that can do nothing but compute.

namespace {

using protocol::SubmitRequest;

Result<protocol::PlanReply> checked(const SubmitRequest& submitted, const ReadRequest& user) {
  if (!submitted.directory.starts_with('/'))
    return fail("the plan's directory must be an absolute path");
  if (submitted.priority > 0 && !user.goes_first)
    return fail("only root and stabd's own user may give a priority above 0");
  const auto plan = plan::read_plan(submitted.plan);
  if (!plan) return fail(plan::describe(plan.error(), one_line(submitted.file, 500)));
  if (const std::string what = revisions::unresolved(*plan); !what.empty())
    return fail(
        fmt::format("{} has not been resolved to a commit: submit the plan with stabctl, which "
                    "finds the commits and adds them to the plan in a table [revisions]",
                    what));
  if (auto fits = results::fits_a_turn(*plan, user.turn); !fits)
    return std::unexpected(fits.error());
  if (plan->privileges && user.uid != 0)
    return fail("'experiment.privileges' is only for plans that root submits: leave it out");
  // While such an experiment waits for Slurm, nobody else's runs.
  if (plan->machines && !user.goes_first)
    return fail(
        "only root and stabd's own user may run experiments on a cluster: leave [machines] out, or "
        "start a stabd of your own ('stabd --state FOLDER --socket FILE') and submit the plan "
        "there");
  const auto knobs = machine::choose_knobs(plan->knobs);
  if (!knobs) return std::unexpected(knobs.error());
  const std::string& forbidden =
      machine::moves_processes(*knobs) ? user.may_not_move : user.may_not_quiesce;
  // The settings of a cluster's nodes are a matter of the nodes' prolog.
  if (plan->quiesce == plan::Quiesce::strict && !plan->machines && !forbidden.empty())
    return fail(forbidden +
                ": use machine.quiesce = \"best-effort\" or \"off\", or ask the person who runs "
                "stabd");
  return protocol::PlanReply{.name = plan->name,
                             .directory = submitted.directory,
                             .priority = submitted.priority,
                             .branch = submitted.branch,
                             .commit = submitted.commit,
                             .trials = plan::count_trials(*plan),
                             .counters = plan->counters,
                             .rotated = plan->rotated,
                             .profile = plan->profile};
}

}  // namespace

Result<void> answer_of_plan(const ReadRequest& request, std::string_view line, AnswerFile& file) {
  const auto asked = protocol::decode_request(line);
  if (!asked) return std::unexpected(asked.error());
  const auto* submitted = std::get_if<SubmitRequest>(&*asked);
  if (submitted == nullptr)
    return fail(fmt::format("only a request that submits a plan may be longer than {}",
                            format_bytes(protocol::most_decoded)));
  const auto reply = checked(*submitted, request);
  if (!reply) return std::unexpected(reply.error());
  if (auto added = file.add(protocol::encode(*reply) + "\n"); !added) return added;
  return file.add(submitted->plan);
}

Result<void> answer_of_notice(std::string_view text, AnswerFile& file) {
  const auto plan = plan::read_plan(std::string(text));
  if (!plan) return fail("the plan is not valid");
  return file.add(protocol::encode(protocol::NoticeReply{.command = plan->notify}));
}

namespace {

constexpr int request_fd = 3;

// Requests with a plan that nobody has read yet.
bool is_of_plan(protocol::Reading reading) {
  return reading == protocol::Reading::plan || reading == protocol::Reading::notice;
}

// Lets everything else run first. If that is not possible, the reader only takes more time from
// others. While the running experiment waits for an answer, no trial runs, so such requests do not
// give way.
void give_way(protocol::Reading reading) {
  if (reading == protocol::Reading::look || reading == protocol::Reading::finish) return;
  // A user who submits a plan waits for the answer, even if trials leave no CPU idle.
  if (is_of_plan(reading)) {
    static_cast<void>(setpriority(PRIO_PROCESS, 0, 10));
    return;
  }
  machine::be_the_first_to_go();
  const sched_param none{};
  static_cast<void>(sched_setscheduler(0, SCHED_IDLE, &none));
  static_cast<void>(setpriority(PRIO_PROCESS, 0, 19));
}

Result<void> refuse(AnswerFile& file, const std::string& why) {
  if (auto begun = file.begin(); !begun) return begun;
  if (auto added = file.add(protocol::encode_refusal(why)); !added) return added;
  return file.end();
}

// `text` is a client's line or a plan, which the daemon has not read.
Result<void> answer_request(const protocol::ReadRequest& request, std::string_view text,
                            AnswerFile& file) {
  give_way(request.reading);
  if (request.protocol != protocol::version) return fail(protocol::reader_mismatch());
  if (is_of_plan(request.reading)) {
    keep_within(bounds_for(text.size()));
    if (auto alone = only_compute(request.uid, request.gid); !alone) return alone;
    if (auto begun = file.begin(); !begun) return begun;
    return request.reading == protocol::Reading::plan ? answer_of_plan(request, text, file)
                                                      : answer_of_notice(text, file);
  }
  if (is_of_archive(request.reading)) {
    if (auto begun = file.begin(); !begun) return begun;
    return answer_of_archive(request, file);
  }
  auto reader = store::Reader::open(request.database);
  if (!reader) return fail(reader.error().message);
  if (auto begun = file.begin(); !begun) return begun;
  return answer(**reader, request, file);
}

}  // namespace

Result<void> answer_in(int descriptor) {
  AnswerFile file(descriptor);
  const auto text = file.request();
  if (!text) return std::unexpected(text.error());
  const std::string_view all(*text);
  const std::size_t end = std::min(all.find('\n'), all.size());
  const std::string_view rest = all.substr(std::min(end + 1, all.size()));
  const auto request = protocol::decode<protocol::ReadRequest>(all.substr(0, end));
  if (!request) return refuse(file, request.error().message);
  try {
    const auto answered = answer_request(*request, rest, file);
    // The part that was written before an error is not an answer, so a refusal replaces it.
    return answered ? file.end() : refuse(file, answered.error().message);
  } catch (const std::exception& error) {
    return refuse(file, fmt::format("stabd cannot answer this: {}", one_line(error.what(), 200)));
  }
}

int serve() {
  return answer_in(request_fd) ? 0 : 1;
}

}  // namespace stab::reader
