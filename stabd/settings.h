// SPDX-License-Identifier: MIT
// A daemon's settings, which its file stabd.toml can change. settings_keys.h has the
// keys. These functions are pure, except load().
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "toml/value.h"

namespace stab::settings {

// Whether the daemon abandons the running trial or finishes it when it has to stop.
enum class Stop { abandon, finish };
constexpr std::string_view to_string(Stop stop) {
  return stop == Stop::abandon ? "abandon" : "finish";
}

enum class Notices { always, trouble };
constexpr std::string_view to_string(Notices notices) {
  return notices == Notices::always ? "always" : "trouble";
}

// The users whose plans may change settings of the machine.
enum class Quiescers { owner, all, nobody };
constexpr std::string_view to_string(Quiescers who) {
  return who == Quiescers::owner ? "owner" : who == Quiescers::all ? "all" : "nobody";
}

// Limits of users. Root and the daemon's own user are never kept out.
struct Limits {
  std::uint32_t connections = 0;
  std::uint32_t connections_of_user = 0;
  std::uint32_t waiting = 0;  // experiments in the queue
  std::uint32_t waiting_of_user = 0;
  std::uint64_t plan_bytes_of_user = 0;                 // the plans of waiting experiments
  std::uint64_t stored_bytes_of_user = 0;               // all experiments in the database
  std::uint64_t unread_of_user = 0;                     // bytes of answers in memory
  std::optional<std::uint64_t> import_bytes_of_user{};  // archives that are being sent
  std::optional<std::uint64_t> cache_of_user{};         // bytes of builds
  // How long an experiment may have the machine while another user waits; 0: until its end. The
  // limit also applies to the experiments of root and the daemon's user, but these are never cut
  // short.
  std::chrono::nanoseconds turn{0};
};

struct Notify {
  std::vector<std::string> command;  // empty: no command
  Notices when = Notices::always;
  std::chrono::nanoseconds time_limit{0};
};

// Days after an experiment's end; 0: never.
struct Retention {
  std::uint32_t output_days = 0;
  std::uint32_t experiments_days = 0;
};

struct Settings {
  std::string state_directory;
  std::string socket_path;
  std::string cache_directory;  // for builds; each user has a folder in it
  unsigned socket_mode = 0;
  std::string socket_group;  // a name or a number; "": the daemon's group
  std::string log;           // the lowest level that is logged
  bool isolate = true;       // use pid namespaces where they are allowed
  bool groups = true;        // use cgroups where they are allowed
  // After this time a silent client is disconnected; 0: never.
  std::chrono::nanoseconds idle_limit{0};
  std::chrono::nanoseconds read_limit{0};  // for a report, an export or an analysis
  Stop stop = Stop::abandon;
  std::chrono::nanoseconds stop_limit{0};  // for the trial that Stop::finish waits for
  Quiescers quiesce_for = Quiescers::owner;
  Limits limits;
  Notify notify;
  Retention retention;
};

// The defaults of all keys. The caller sets the three paths.
Settings standard();

// Applies the settings in `text` to `base`, or returns all problems of the text.
std::expected<Settings, std::vector<toml::Problem>> read(std::string_view text, Settings base);

// Prints settings in a form that read() accepts. A setting without a value becomes a comment.
std::string print(const Settings& settings);

// The keys whose values differ.
std::vector<std::string_view> differences(const Settings& one, const Settings& other);
// Whether a running daemon can change this key's value.
bool can_change(std::string_view key);
// Returns `after`, but with the values of `before` for keys that a running daemon can't change.
Settings changed(const Settings& before, const Settings& after);

// The table of keys in doc/operations.md.
std::string table_of_keys();

// The settings file says what runs with the daemon's rights, so nobody else may write it. Returns
// its text, or nullopt if there is no file that we can reach. It is an error if the
// file can't be read, does not belong to this user or root, or may be written by others.
Result<std::optional<std::string>> load(const std::string& path);

}  // namespace stab::settings
