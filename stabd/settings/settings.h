// SPDX-License-Identifier: MIT
// What a daemon may be told in its file, stabd.toml. key_list.h has the keys. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toml/problems.h"

namespace stab::settings {

// What happens to the trial under way when the daemon is to stop.
enum class Stop { abandon, finish };
constexpr std::string_view to_string(Stop stop) {
  return stop == Stop::abandon ? "abandon" : "finish";
}

enum class Notices { always, trouble };
constexpr std::string_view to_string(Notices notices) {
  return notices == Notices::always ? "always" : "trouble";
}

// Whose plans may change settings of the machine.
enum class Quiescers { owner, all, nobody };
constexpr std::string_view to_string(Quiescers who) {
  return who == Quiescers::owner ? "owner" : who == Quiescers::all ? "all" : "nobody";
}

// Of users that are neither root nor the daemon's own: those are never kept out.
struct Limits {
  std::uint32_t connections = 0;
  std::uint32_t connections_of_user = 0;
  std::uint32_t waiting = 0;  // experiments in the queue
  std::uint32_t waiting_of_user = 0;
  std::uint64_t plan_bytes_of_user = 0;                 // of those that wait
  std::uint64_t stored_bytes_of_user = 0;               // of all that are in the database
  std::uint64_t unread_of_user = 0;                     // bytes of answers in memory
  std::optional<std::uint64_t> import_bytes_of_user{};  // of archives that are sent at once
  std::optional<std::uint64_t> cache_of_user;           // bytes of builds, of every user
  // How long an experiment may have the machine while another user waits; 0: until its end. It bounds root's and the
  // owner's experiments too, but these are never cut short.
  std::chrono::nanoseconds turn{0};
};

struct Notify {
  std::vector<std::string> command;  // empty: none
  Notices when = Notices::always;
  std::chrono::nanoseconds time_limit{0};
};

// Days after the end of an experiment; 0: for ever.
struct Retention {
  std::uint32_t output_days = 0;
  std::uint32_t experiments_days = 0;
};

struct Settings {
  std::string state_directory;
  std::string socket_path;
  std::string cache_directory;  // of builds; a folder a user inside
  unsigned socket_mode = 0;
  std::string socket_group;  // a name or a number; "": that of the daemon
  std::string log;           // the least level
  bool isolate = true;       // use pid namespaces where they are allowed
  bool groups = true;        // and cgroups
  // After which a client that says nothing is let go; 0: never.
  std::chrono::nanoseconds idle_limit{0};
  std::chrono::nanoseconds read_limit{0};  // of a report, an export, an analysis
  Stop stop = Stop::abandon;
  std::chrono::nanoseconds stop_limit{0};  // of the trial that is finished
  Quiescers quiesce_for = Quiescers::owner;
  Limits limits;
  Notify notify;
  Retention retention;
};

// The defaults of all keys; the three paths are the caller's business.
Settings standard();

// `text` over `base`, or all that is wrong with it.
std::expected<Settings, std::vector<toml::Problem>> read(std::string_view text, Settings base);

// As a text that read() takes; what is not set stands there as a comment.
std::string print(const Settings& settings);

// Keys in which they differ.
std::vector<std::string_view> differences(const Settings& one, const Settings& other);
// Whether a daemon that runs can take another value of it.
bool can_change(std::string_view key);
// `after`, but for what a daemon that runs keeps of `before`.
Settings changed(const Settings& before, const Settings& after);

// The table of doc/operations.md.
std::string table_of_keys();

}  // namespace stab::settings
