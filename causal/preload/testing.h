// SPDX-License-Identifier: MIT
// A session made by hand, whose lines are whole functions of the program `causal_work`, and runs
// of that program under the library.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "causal/session.h"

namespace stab::causal::testing {

struct Function {
  uint64_t address = 0;
  uint32_t size = 0;
};

inline std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::array<char, 4096> part;
  for (size_t n = 0; (n = fread(part.data(), 1, part.size(), pipe)) > 0;)
    text.append(part.data(), n);
  pclose(pipe);
  return text;
}

inline Function find_function(const std::string& program, const std::string& name) {
  const std::string line = output_of("nm -S '" + program + "' | grep -E ' [tT] " + name + "$'");
  if (line.size() < 34) throw std::runtime_error("no function " + name);
  return {std::stoull(line.substr(0, 16), nullptr, 16),
          static_cast<uint32_t>(std::stoul(line.substr(17, 16), nullptr, 16))};
}

inline const std::string build_dir = std::string(STAB_BIN_DIR) + "/..";
inline const std::string library = build_dir + "/lib/libstabcausal.so";
inline const std::string work = build_dir + "/tests/causal_work";
inline const std::string moving = build_dir + "/tests/causal_work_moving";

constexpr uint64_t ms = 1000000;

// The result of a run.
struct Ran {
  std::string output;
  int status = 0;      // from waitpid
  long preempted = 0;  // how often others took the CPU from it
};

// Counts preemptions of all children that have ended.
inline long preempted_children() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_nivcsw;
}

inline int exit_code(const Ran& ran) {
  return WIFEXITED(ran.status) ? WEXITSTATUS(ran.status) : -1;
}

class Session {
 public:
  static constexpr uint32_t experiments = 400;
  static constexpr uint32_t visits = 4000;

  // One line for each function.
  explicit Session(const std::vector<std::string>& functions, const std::string& program = work)
      : program_(program) {
    std::string name = "/tmp/causal_session_XXXXXX";
    fd_ = mkstemp(name.data());
    path_ = name;
    const auto count = static_cast<uint32_t>(functions.size());
    const uint64_t lines = sizeof(Head) + sizeof(Object) + count * sizeof(Range);
    const uint64_t counters = lines + count * sizeof(LineCount);
    const uint64_t list = counters + most_counters * sizeof(Counter);
    const uint64_t visit_list = list + experiments * sizeof(Experiment);
    size_ = visit_list + visits * sizeof(Visits);
    if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) throw std::runtime_error("ftruncate");
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    start_ = static_cast<uint8_t*>(memory);
    Head& h = head();
    h.magic = magic;
    h.size = size_;
    h.seed = 1;
    h.sample_ns = 1000000;
    h.experiment_ns = 50000000;
    h.cooldown_ns = 5000000;
    h.least_visits = 5;
    h.fixed_line = no_line;
    h.fixed_speedup = drawn;
    h.objects = sizeof(Head);
    h.ranges = h.objects + sizeof(Object);
    h.names = lines;
    h.line_counts = lines;
    h.counters = counters;
    h.experiment_list = list;
    h.visit_list = visit_list;
    h.object_count = 1;
    h.range_count = count;
    h.line_count = count;
    h.experiment_capacity = experiments;
    h.visit_capacity = visits;
    h.chosen = no_line;
    add_ranges(functions);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    munmap(start_, size_);
    close(fd_);
    unlink(path_.c_str());
  }

  Head& head() { return *reinterpret_cast<Head*>(start_); }
  Experiment& experiment(uint32_t i) { return at<Experiment>(head().experiment_list, i); }
  Visits& visit(uint32_t i) { return at<Visits>(head().visit_list, i); }
  Counter& counter(uint32_t i) { return at<Counter>(head().counters, i); }
  uint64_t samples(uint32_t line) { return at<LineCount>(head().line_counts, line).samples; }
  uint64_t period() { return head().samples == 0 ? 0 : head().sampled_ns / head().samples; }

  // Runs the program with these pieces of work (a part of a shell's line) under the library.
  Ran run(const std::string& pieces, const std::string& variables = "") {
    return run_command("'" + program_ + "' " + pieces, variables);
  }
  // `behind`: libraries that are preloaded behind ours, each after a colon.
  Ran run_command(const std::string& command, const std::string& variables = "",
                  const std::string& behind = "") {
    const std::string out = path_ + ".out";
    // Only the command itself is profiled, not what watches over it.
    const std::string line = "timeout 100 env STAB_CAUSAL='" + path_ + "' " + variables +
                             " LD_PRELOAD='" + library + behind + "' " + command + " >'" + out +
                             "' 2>&1";
    Ran ran;
    const long before = preempted_children();
    ran.status = system(line.c_str());
    ran.preempted = preempted_children() - before;
    ran.output = output_of("cat '" + out + "'; rm -f '" + out + "'");
    return ran;
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  template <class T>
  T& at(uint64_t offset, uint32_t i) {
    return reinterpret_cast<T*>(start_ + offset)[i];
  }

  void add_ranges(const std::vector<std::string>& functions) {
    struct stat status = {};
    stat(program_.c_str(), &status);
    at<Object>(head().objects, 0) = {status.st_dev, status.st_ino, 0, head().range_count};
    std::vector<Range> ranges;
    for (uint32_t i = 0; i < functions.size(); ++i) {
      const Function function = find_function(program_, functions[i]);
      ranges.push_back({function.address, function.size, i});
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.start < b.start; });
    for (uint32_t i = 0; i < ranges.size(); ++i) at<Range>(head().ranges, i) = ranges[i];
  }

  std::string program_;
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  uint8_t* start_ = nullptr;
};

}  // namespace stab::causal::testing
