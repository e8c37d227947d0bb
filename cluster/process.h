// SPDX-License-Identifier: MIT
// Starts the cluster's own programs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace stab::cluster {

// A child with pipes for its streams. The destructor kills it.
class Process {
 public:
  // argv[0] is searched in our PATH. The child has our environment.
  static Result<Process> start(const std::vector<std::string>& argv);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] int input() const { return input_.get(); }
  [[nodiscard]] int output() const { return output_.get(); }
  [[nodiscard]] int errors() const { return errors_.get(); }
  void close_input() { input_.reset(); }
  void signal(int number) const;
  // Waits until it has ended; returns false after the time.
  bool wait(std::chrono::milliseconds time);
  // Whether it has ended with exit code 0; only after wait() has returned true.
  [[nodiscard]] bool succeeded() const;

 private:
  Process() = default;
  pid_t pid_ = 0;
  int status_ = -1;
  bool ended_ = false;
  Fd input_;
  Fd output_;
  Fd errors_;
};

// Runs a program that prints little. The error says why there is no output: it did not start, did
// not end in time, or did not succeed.
Result<std::string> output_of(const std::vector<std::string>& argv, std::chrono::milliseconds time);

}  // namespace stab::cluster
