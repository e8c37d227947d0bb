// SPDX-License-Identifier: MIT
#include "tests/system/lab.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::steady_clock;

std::string binary(const char* name) {
  return std::string(STAB_BIN_DIR) + "/" + name;
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
  Fd read;
  Fd write;
};

[[noreturn]] void execute(const std::vector<std::string>& argv, const std::string& directory) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (chdir(directory.c_str()) == 0) execv(words[0], words.data());
  _exit(127);
}

void collect(Pipe& out, Pipe& err, Output& output) {
  std::array<pollfd, 2> fds{{{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
  std::array<std::string*, 2> texts{&output.out, &output.err};
  std::array<char, 65536> buffer;
  for (int open = 2; open > 0;) {
    poll(fds.data(), fds.size(), -1);
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      const ssize_t n = read(fds[i].fd, buffer.data(), buffer.size());
      if (n > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(n));
      } else {
        fds[i].fd = -1;
        --open;
      }
    }
  }
}

// To ask takes a process: what lasts is asked for less often, so that it gets the CPU.
template <class Condition>
bool comes_true(Condition condition, std::chrono::seconds limit) {
  const auto end = steady_clock::now() + limit;
  std::chrono::milliseconds pause(20);
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 3 / 2, std::chrono::milliseconds(300));
  }
  return true;
}

constexpr const char* clock_c = R"(#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (clock != CLOCK_REALTIME) return result;
  char text[32] = "";
  const int file = open(CLOCK, O_RDONLY | O_CLOEXEC);
  if (file >= 0 && read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
  if (file >= 0) close(file);
  return result;
}
)";

}  // namespace

bool make_clock(const Lab& lab) {
#ifdef STAB_SANITIZED
  return false;  // a sanitizer's runtime must come before what is preloaded
#endif
  lab.write("clock.c", clock_c);
  return run_program({"/usr/bin/cc", "-shared", "-fPIC", "-DCLOCK=\"" + lab.path("clock") + "\"",
                      "-o", lab.path("clock.so"), lab.path("clock.c")},
                     lab.folder())
             .code == 0;
}

std::string joined(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

Output run_program(const std::vector<std::string>& argv, const std::string& directory) {
  Pipe out;
  Pipe err;
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(out.write.get(), 1);
    dup2(err.write.get(), 2);
    execute(argv, directory);
  }
  out.write.reset();
  err.write.reset();
  Output output;
  collect(out, err, output);
  int status = 0;
  waitpid(child, &status, 0);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return output;
}

int times(int few, int many) {
  return getenv("STAB_CAMPAIGN") != nullptr ? many : few;
}

pid_t start_program(const std::vector<std::string>& argv, const std::string& directory,
                    const std::string& file) {
  // Emptied before it starts: nobody takes what stands there for its words.
  const Fd out(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(open("/dev/null", O_RDONLY), 0);
  dup2(out.get(), 1);
  dup2(out.get(), 2);
  execute(argv, directory);
}

int end_of(pid_t child, std::chrono::seconds limit) {
  const auto end = steady_clock::now() + limit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (steady_clock::now() > end) return -1000;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool wait_for_text(const std::string& file, const std::string& text, std::chrono::seconds limit) {
  const auto end = steady_clock::now() + limit;
  while (steady_clock::now() < end) {
    const auto content = read_file(file, 1 << 20);
    if (content && content->contains(text)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

std::string until_go(int at_once) {
  if (at_once == 0) return "until [ -e go ]; do sleep 0.02; done";
  return fmt::format(
      "[ -e go ] || echo >>began; "
      "until [ -e go ] || [ $(wc -l <began) -le {} ]; do sleep 0.02; done",
      at_once);
}

std::string waiting_plan(const std::string& name, int repetitions, int at_once) {
  return fmt::format(
      "[experiment]\nname = \"{}\"\n[[benchmark]]\nname = \"b\"\nrepetitions = {}\n"
      "timeout = \"1h\"\nrun = [\"/bin/sh\", \"-c\", \"{}\"]\n",
      name, repetitions, until_go(at_once));
}

std::string printing_plan(const std::string& name, const std::string& levels, int repetitions,
                          const std::string& more) {
  return fmt::format(
      "[experiment]\nname = \"{}\"\n[defaults]\nrepetitions = {}\ngive_up_after = 0\n"
      "timeout = \"1h\"\n[[benchmark]]\nname = \"b\"\nrun = [\"./took.sh\", \"${{NS}}\"]\n"
      "[factor.t]\nlevels = {}\n"
      "[[measure.output]]\nname = \"took\"\nunit = \"ns\"\nregex = 'took (\\d+)'\n"
      "[analysis]\nresponse = \"took\"\n{}",
      name, repetitions, levels, more);
}

std::string took_script(const std::string& first) {
  return "#!/bin/sh\n" + first + "echo took $(($1 + $(od -An -N1 -tu1 /dev/urandom) % 8)) ns\n";
}

bool own_state_folder(const std::string& folder) {
  setenv("XDG_STATE_HOME", folder.c_str(), 1);
  if (geteuid() != 0) return true;
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755") == 0;
}

void drop_state_folder() {
  if (geteuid() == 0) umount2("/var/lib", MNT_DETACH);
}

Lab::Lab() {
  std::string path = "/tmp/stabd-test-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) std::abort();
  folder_ = path;
  stabd_ = binary("stabd");
  write("stabd.toml", "");
}

Lab::~Lab() {
  end_daemon(SIGTERM);
  std::error_code error;
  fs::remove_all(folder_, error);
}

void Lab::write(const std::string& name, const std::string& text, bool executable) const {
  std::error_code error;
  fs::create_directories(fs::path(path(name)).parent_path(), error);
  std::ofstream(path(name), std::ios::binary) << text;
  if (executable) chmod(path(name).c_str(), 0755);
}

void Lab::copy_stabd() {
  stabd_ = path("stabd");
  fs::copy_file(binary("stabd"), stabd_);
}

bool Lab::start_daemon(const std::vector<std::string>& extra) {
  std::vector<std::string> argv{
      stabd_,     "--config",     path("stabd.toml"), "--state",     path("state"),
      "--socket", path("s.sock"), "--cache",          path("cache"), "--ready-fd",
      "3"};
  argv.insert(argv.end(), extra.begin(), extra.end());
  Pipe ready;
  daemon_ = fork();
  if (daemon_ == 0) {
    const int log = open(path("stabd.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(log, 2);
    dup2(ready.write.get(), 3);
    execute(argv, folder_);
  }
  ready.write.reset();
  char c = 0;
  if (read(ready.read.get(), &c, 1) == 1) return true;
  waitpid(daemon_, nullptr, 0);
  daemon_ = 0;
  return false;
}

pid_t Lab::worker() const {
  const auto text = read_file(path("state/worker.json"), 65536);
  if (!text) return 0;
  const json record = json::parse(*text, nullptr, false);
  return record.is_object() ? record.value("pid", 0) : 0;
}

void Lab::end_daemon(int signal) {
  if (daemon_ == 0) return;
  kill(daemon_, signal);
  waitpid(daemon_, nullptr, 0);
  daemon_ = 0;
}

int Lab::wait_for_daemon() {
  return end_of(std::exchange(daemon_, 0));
}

Output Lab::ctl(std::vector<std::string> arguments) const {
  std::vector<std::string> argv{binary("stabctl"), "--socket", path("s.sock")};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_program(argv, folder_);
}

Fd Lab::connect() const {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("s.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return socket;
}

int Lab::submit(const std::string& plan) const {
  const Output output = ctl({"submit", "--json", path(plan)});
  const json answer = json::parse(output.out, nullptr, false);
  return answer.is_object() ? answer.value("id", 0) : 0;
}

std::string Lab::state(int id) const {
  const json rows = json::parse(ctl({"list", "--json"}).out, nullptr, false);
  if (!rows.is_array()) return "";
  for (const json& row : rows)
    if (row.value("id", 0) == id) return row.value("state", "");
  return "";
}

bool Lab::wait_for(int id, const std::string& wanted, std::chrono::seconds limit) const {
  return comes_to(id, {wanted}, limit);
}

bool Lab::wait_until_final(int id, std::chrono::seconds limit) const {
  return comes_to(id, {"done", "failed", "cancelled"}, limit);
}

bool Lab::comes_to(int id, const std::set<std::string>& wanted, std::chrono::seconds limit) const {
  return comes_true([&] { return wanted.contains(state(id)); }, limit);
}

bool Lab::wait_for_trials(int id, int count, std::chrono::seconds limit) const {
  const auto stored = [&] {
    const std::string text = ctl({"status", "--json", std::to_string(id)}).out;
    const json status = json::parse(text, nullptr, false);
    if (!status.is_object()) return 0;
    return status.value("progress", json::object()).value("done", 0);
  };
  return comes_true([&] { return stored() >= count; }, limit);
}

json Lab::trials(int id) const {
  return json::parse(ctl({"export", "--format", "json", std::to_string(id)}).out, nullptr, false);
}

}  // namespace stab::test
