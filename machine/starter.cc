// SPDX-License-Identifier: MIT
#include "machine/starter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/fd.h"

asm(".pushsection .rodata\n"
    "stab_starter_begin: .incbin \"" STAB_STARTER
    "\"\n"
    "stab_starter_end:\n"
    ".popsection\n");
extern "C" const char stab_starter_begin[];
extern "C" const char stab_starter_end[];

namespace stab::machine {
namespace {

// MFD_EXEC. Kernels before 6.3 refuse this flag and do not need it.
constexpr unsigned mfd_exec = 0x0010;

Fd executable_file() {
  Fd file = sealable_file("stab-starter", mfd_exec);
  if (!file && errno == EINVAL) file = sealable_file("stab-starter", 0);
  return file;
}

}  // namespace

Fd sealable_file(const char* name, unsigned flags) {
  const Fd low(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  return Fd(low ? fcntl(low.get(), F_DUPFD_CLOEXEC, first_free) : -1);
}

int starter_image() {
  static Fd image;
  if (image) return image.get();
  Fd file = executable_file();
  if (!file || !write_all(file.get(), {stab_starter_begin, stab_starter_end})) return -1;
  // Sealed, because another program of the same user could open the file and change the code that
  // starts later trials.
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return -1;
  image = std::move(file);
  return image.get();
}

namespace {

// A page that our children share with us, one child at a time. A process that was forked from us
// makes its own pages; otherwise its children would write into the pages of our children.
struct SharedNote {
  Fd file;
  Note* page = nullptr;
  pid_t owner = 0;
};

SharedNote* shared_note(Start::Which which) {
  static std::array<SharedNote, 2> notes;
  SharedNote& shared = notes[static_cast<unsigned>(which)];
  if (shared.page == nullptr || shared.owner != getpid()) {
    shared.file = sealable_file("stab-note", 0);
    // Sealed, because another process could open the file and shrink it, and our next access would
    // crash.
    if (!shared.file || ftruncate(shared.file.get(), sizeof(Note)) != 0 ||
        fcntl(shared.file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
      return nullptr;
    void* page =
        mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED, shared.file.get(), 0);
    if (page == MAP_FAILED) return nullptr;
    shared.page = static_cast<Note*>(page);
    shared.owner = getpid();
  }
  *shared.page = Note{};
  return &shared;
}

std::vector<char*> pointers_to(std::initializer_list<const char*> first,
                               const std::vector<std::string>& others) {
  std::vector<char*> pointers;
  for (const char* word : first) pointers.push_back(const_cast<char*>(word));
  for (const std::string& word : others) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

constexpr const char* no_files_in_memory =
    "start a program from memory (see sysctl vm.memfd_noexec)";

[[noreturn]] void give_up(Note& note, const char* what) {
  note.error = errno != 0 ? errno : EINVAL;
  std::strncpy(note.failed.data(), what, note.failed.size() - 1);
  _exit(127);
}

// Moves descriptors to their final numbers. A descriptor may have the final number of another one,
// so all are first moved out of the way.
bool put(std::array<std::pair<int, int>, 6> from_to) {
  for (auto& [from, to] : from_to)
    if (from >= 0 && (from = fcntl(from, F_DUPFD_CLOEXEC, first_free)) < 0) return false;
  for (const auto& [from, to] : from_to)
    if (from >= 0 && dup2(from, to) < 0) return false;
  return true;
}

// Prepared before the child starts, because the child must not leave anything allocated in the
// memory that it borrows.
struct Prepared {
  std::array<std::pair<int, int>, 6> descriptors;
  int image;
  std::vector<char*> argv;
  std::vector<char*> environment;
};

[[noreturn]] void become_starter(const Start& start, Prepared& prepared, Note& note) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != note.parent) _exit(127);  // the parent has already died
  setsid();                                  // signals from our terminal must not end it
  syscall(SYS_sched_getaffinity, 0, sizeof note.starter_cpus, note.starter_cpus.data());
  const int starter = fcntl(prepared.image, F_DUPFD_CLOEXEC, first_free);
  if (starter < 0 || !put(prepared.descriptors)) give_up(note, "redirect");
  if (const char* const failed = start.become()) give_up(note, failed);
  syscall(SYS_execveat, starter, "", prepared.argv.data(), prepared.environment.data(),
          AT_EMPTY_PATH);
  give_up(note, errno == EACCES || errno == EPERM ? no_files_in_memory : "execute");
}

// Blocks all signals. Otherwise the child, which uses our memory, could run our signal handlers.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// Waits until the child executes the starter or ends.
pid_t start_child(const Start& start, Prepared& prepared, Note& note) {
  const NoSignals none;
  const pid_t child = vfork();
  if (child == 0) become_starter(start, prepared, note);
  return child;
}

pid_t told_pid(int told) {
  pid_t pid = 0;
  ssize_t size = 0;
  do {
    size = read(told, &pid, sizeof pid);
  } while (size < 0 && errno == EINTR);
  return size == sizeof pid ? pid : 0;
}

}  // namespace

Result<Started> start(const Start& start) {
  SharedNote* const shared = shared_note(start.which);
  if (shared == nullptr) return fail_errno("cannot share memory with the program's process");
  const int image = starter_image();
  if (image < 0) return fail_errno(std::string("cannot ") + no_files_in_memory);
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("no pipe");
  const Fd told(ends[0]);
  Fd tell(ends[1]);
  Prepared prepared{
      .descriptors = {{{start.streams[0], STDIN_FILENO},
                       {start.streams[1], STDOUT_FILENO},
                       {start.streams[2], STDERR_FILENO},
                       {shared->file.get(), note_fd},
                       {tell.get(), told_fd},
                       {start.gate, gate_fd}}},
      .image = image,
      .argv = pointers_to(
          {"stab-starter", start.gate >= 0 ? "gated" : "free", start.program.c_str()}, start.argv),
      .environment = pointers_to({}, start.environment)};
  shared->page->parent = getpid();
  const pid_t starter = start_child(start, prepared, *shared->page);
  if (starter < 0) return fail_errno("cannot fork");
  tell.reset();
  return Started{.starter = starter, .program = told_pid(told.get()), .note = shared->page};
}

}  // namespace stab::machine
