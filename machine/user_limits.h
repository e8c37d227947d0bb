// SPDX-License-Identifier: MIT
// The resource limits (ulimit) that PAM gives a user at login, as cron and su apply them to what they start.
//
// PAM sets the limits of the process that opens the session, so a process of its own does that and prints them as a line.
// Only root can ask: the program of another user's daemon starts with what that user has anyway.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace stab::machine {

struct ResourceLimit {
  int resource = 0;  // RLIMIT_*
  rlim_t soft = 0;
  rlim_t hard = 0;
  bool operator==(const ResourceLimit&) const = default;
};

struct UserLimits {
  std::vector<ResourceLimit> set{};  // by PAM; programs have their parent's limits for all others
  std::string lacking{};             // why this machine's PAM says nothing about the user
  std::string refused{};             // why PAM lets the user have no session: nothing may run
  bool operator==(const UserLimits&) const = default;
};

// Opens and closes a session of PAM's service "stabd" for the user. Changes the limits of this process, which must be a
// process of its own.
UserLimits ask_pam(uid_t uid);

// The same answer from another process, `program --limits-of UID`, which must print to_line() of it. Safe in a copy of a process
// that had several threads.
UserLimits ask_pam_by(const std::string& program, uid_t uid);

std::string to_line(const UserLimits& limits);
// A line that nothing of ours has written is a refusal.
UserLimits user_limits_in(std::string_view line);

// "nofile=1024:4096 core=0:unlimited": soft and hard, by the names of limits.conf.
std::string names_of(const std::vector<ResourceLimit>& limits);

// Lets this process's children have these limits, but leaves it what it has. Needs the rights to raise limits.
bool allow(const std::vector<ResourceLimit>& limits);
// Sets the limits of this process. Allocates nothing.
bool take(const std::vector<ResourceLimit>& limits);

// Core files are not written, and a stack has stack_bytes (child.h), unless a user's limits say otherwise. Allocates
// nothing.
void take_standard_limits();

// The limits of every program that this process runs (child.h). They are set once, before the first program.
const std::vector<ResourceLimit>& limits_of_programs();
void set_limits_of_programs(std::vector<ResourceLimit> limits);

// "NAME=value" for a worker's environment, and what a worker finds there; nothing set if there is no such variable.
std::string limits_variable(const UserLimits& limits);
UserLimits limits_from_environment();

}  // namespace stab::machine
