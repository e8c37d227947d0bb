// SPDX-License-Identifier: MIT
// The resource limits (ulimit) that PAM sets for a user at login. cron and su apply them to what
// they start, too.
//
// PAM sets the limits of the process that opens the session, so a separate process does that and
// prints the limits as a line. Only root can ask. Under another user's daemon, programs start with
// that user's own limits anyway.
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
  std::vector<ResourceLimit> set{};  // the limits that PAM sets; all others are inherited
  std::string lacking{};             // why this machine's PAM has no answer for the user
  std::string refused{};             // why PAM refuses a session; then nothing may run for the user
  bool operator==(const UserLimits&) const = default;
};

// Opens and closes a session of PAM's service "stabd" for the user. This changes the limits of the
// calling process, which must exist only for this call.
UserLimits ask_pam(uid_t uid);

// Gets the same answer from another process, `program --limits-of UID`, which must print it with
// to_line(). Safe in a forked copy of a process that had several threads.
UserLimits ask_pam_by(const std::string& program, uid_t uid);

std::string to_line(const UserLimits& limits);
// Parses to_line(). An invalid line becomes a refusal.
UserLimits user_limits_in(std::string_view line);

// The soft and hard limits with their names in limits.conf: "nofile=1024:4096 core=0:unlimited".
std::string names_of(const std::vector<ResourceLimit>& limits);

// Raises this process's hard limits where needed, so that its children can take these limits; its
// soft limits stay. Needs the rights to raise limits.
bool allow(const std::vector<ResourceLimit>& limits);
// Sets the limits of this process. Allocates nothing.
bool take(const std::vector<ResourceLimit>& limits);

// Disables core files and sets the stack limit to stack_bytes (measured_run.h); a user's own limits may
// override both later. Allocates nothing.
void take_standard_limits();

// The limits of every program that this process runs (measured_run.h). They must be set once, before the
// first program.
const std::vector<ResourceLimit>& limits_of_programs();
void set_limits_of_programs(std::vector<ResourceLimit> limits);

// The limits as "NAME=value" for a worker's environment, and the limits that a worker finds there,
// which are empty without that variable.
std::string limits_variable(const UserLimits& limits);
UserLimits limits_from_environment();

}  // namespace stab::machine
