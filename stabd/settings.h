// SPDX-License-Identifier: MIT
// A daemon's settings, which its file stabd.toml can change. The end of this header has the table
// of the file's keys. These functions are pure, except load().
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "toml/keys.h"
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

bool is_absolute_path(std::string_view text);
bool is_socket_path(std::string_view text);
bool is_line(std::string_view text);
bool is_group(std::string_view text);
inline constexpr std::string_view path_rule =
    "an absolute path of at most 4096 printable characters";
inline constexpr std::string_view socket_rule =
    "an absolute path of at most 107 printable characters";
inline constexpr std::string_view group_rule = "the name or number of a group, in quotes";
inline constexpr std::string_view line_rule = "a text of 1 to 4096 printable characters";

namespace words {
inline constexpr std::array<std::string_view, 3> socket_modes{"0600", "0660", "0666"};
inline constexpr std::array<std::string_view, 4> levels{"debug", "info", "warning", "error"};
inline constexpr std::array stops{to_string(Stop::abandon), to_string(Stop::finish)};
inline constexpr std::array quiescers{to_string(Quiescers::owner), to_string(Quiescers::all),
                                      to_string(Quiescers::nobody)};
inline constexpr std::array notices{to_string(Notices::always), to_string(Notices::trouble)};
// Keys that a running daemon can't change.
inline constexpr std::array<std::string_view, 7> fixed_keys{
    "daemon.state", "daemon.socket",     "daemon.socket_mode", "daemon.socket_group",
    "daemon.cache", "daemon.namespaces", "daemon.cgroups"};
}  // namespace words

inline constexpr std::uint64_t max_bytes = std::uint64_t{1} << 50;

// All keys of stabd.toml. for_each_setting() has the field of the settings that each of them sets.
inline constexpr toml::Key keys[] = {
    {"daemon.state", toml::Text{is_absolute_path, path_rule}, "folder of the database",
     "`/var/lib/stabd` for root, else according to the XDG rules"},
    {"daemon.socket", toml::Text{is_socket_path, socket_rule}, "unix socket to serve",
     "`/run/stabd/stabd.sock` for root, else according to the XDG rules"},
    {"daemon.socket_mode", toml::Choice{words::socket_modes, "0600"},
     "file mode of the socket, written as for chmod; it decides who may connect"},
    {"daemon.socket_group", toml::Text{is_group, group_rule},
     "group whose members may connect if `socket_mode` is `0660`", "the group of stabd's own user"},
    {"daemon.cache", toml::Text{is_absolute_path, path_rule}, "folder for builds",
     "`/var/cache/stabd/builds` for root, else according to the XDG rules"},
    {"daemon.log", toml::Choice{words::levels, "info"}, "lowest level to log"},
    {"daemon.namespaces", toml::Flag{true}, "contain trials in pid namespaces"},
    {"daemon.cgroups", toml::Flag{true},
     "use cgroups to limit trials, if the daemon runs as root and can use them"},
    {"daemon.idle_limit", toml::Duration{std::chrono::minutes(10), true},
     "how long a client may be silent before stabd disconnects it; does not apply to root, to "
     "stabd's own user or to clients that watch an experiment"},
    {"daemon.read_limit", toml::Duration{std::chrono::minutes(30)},
     "how long a report, an export or an analysis may take before stabd gives up"},
    {"daemon.stop", toml::Choice{words::stops, "abandon"},
     "how SIGTERM affects the running trial: with `abandon`, the next stabd repeats it; with "
     "`finish`, this stabd finishes it first"},
    {"daemon.stop_limit", toml::Duration{std::chrono::minutes(1)},
     "with `finish`: how long the running trial may take before stabd abandons it"},

    {"limits.connections", toml::Count{1, 100'000, 256},
     "how many connections all users together may have at once. Root and stabd's own user have no "
     "limits on connections or on the queue, and their connections and experiments are not "
     "counted"},
    {"limits.connections_of_user", toml::Count{1, 100'000, 16},
     "how many connections one user may have at once"},
    {"limits.waiting", toml::Count{1, 1'000'000, 1000}, "how many experiments the queue may hold"},
    {"limits.waiting_of_user", toml::Count{1, 1'000'000, 100},
     "how many experiments one user may have in the queue"},
    {"limits.plan_bytes_of_user", toml::Bytes{max_bytes, std::uint64_t{8} << 20},
     "total size of one user's plans in the queue"},
    {"limits.stored_bytes_of_user", toml::Bytes{max_bytes, std::uint64_t{10} << 30},
     "approximately how much space one user's experiments may take up in the database. Above this "
     "limit, stabd refuses the user's new experiments, imports and retries, and the user's running "
     "experiment fails before its next trial. The user's waiting experiments fail when their turn "
     "comes. Imports leave the room that the running experiment still needs"},
    {"limits.unread_of_user", toml::Bytes{max_bytes, std::uint64_t{64} << 20},
     "how many bytes of answers one user's clients may leave unread. If answers in memory exceed "
     "this limit, stabd disconnects the client that sent the request. If answers in files exceed "
     "this limit, the user's reports and exports wait"},
    {"limits.import_bytes_of_user", toml::Bytes{max_bytes},
     "total size of the archives that one user may send at once; without this key, only root and "
     "stabd's own user may import",
     "none"},
    {"limits.cache_of_user", toml::Bytes{max_bytes},
     "total size of one user's builds; above the limit, stabd removes the least recently used "
     "builds",
     "a tenth of the cache's file system, at most 16 GiB"},
    {"limits.turn", toml::Duration{std::chrono::hours(1), true},
     "how long an experiment may use the machine while another user waits. After this time, the "
     "experiment gives up the machine before its next block. After twice this time, stabd cuts the "
     "block short and runs it again later, unless the experiment belongs to root or stabd's own "
     "user. stabd refuses other users' plans in which a build, a trial with its commands, or a "
     "wait for a quiet machine may take longer than this limit"},

    {"machine.quiesce_for", toml::Choice{words::quiescers, "owner"},
     "users whose plans may change machine settings (`machine.quiesce`): root and stabd's own user "
     "(`owner`), everybody (`all`) or nobody (`nobody`)"},

    {"notify.command", toml::Texts{is_line, line_rule},
     "a program and its arguments; when an experiment ends or has a problem, stabd runs the "
     "program with JSON on its stdin",
     "none"},
    {"notify.when", toml::Choice{words::notices, "always"},
     "`trouble`: no notice for experiments that are done or were cancelled"},
    {"notify.time_limit", toml::Duration{std::chrono::seconds(30)},
     "how long the notice command may run before stabd kills it"},

    {"retention.output_days", toml::Count{0, 100'000, 0},
     "how many days stabd keeps the output of an experiment's trials and builds after the "
     "experiment's end; 0: without a limit. The output of failed builds stays in events"},
    {"retention.experiments_days", toml::Count{0, 100'000, 0},
     "after how many days an ended experiment is removed; 0: never"}};

// Calls `visit<path>(field)` for each key, so that functions that read, print or fill settings miss
// no key.
template <class Some, class Visit>
void for_each_setting(Some& settings, const Visit& visit) {
  visit.template operator()<"daemon.state">(settings.state_directory);
  visit.template operator()<"daemon.socket">(settings.socket_path);
  visit.template operator()<"daemon.socket_mode">(settings.socket_mode);
  visit.template operator()<"daemon.socket_group">(settings.socket_group);
  visit.template operator()<"daemon.cache">(settings.cache_directory);
  visit.template operator()<"daemon.log">(settings.log);
  visit.template operator()<"daemon.namespaces">(settings.isolate);
  visit.template operator()<"daemon.cgroups">(settings.groups);
  visit.template operator()<"daemon.idle_limit">(settings.idle_limit);
  visit.template operator()<"daemon.read_limit">(settings.read_limit);
  visit.template operator()<"daemon.stop">(settings.stop);
  visit.template operator()<"daemon.stop_limit">(settings.stop_limit);
  visit.template operator()<"limits.connections">(settings.limits.connections);
  visit.template operator()<"limits.connections_of_user">(settings.limits.connections_of_user);
  visit.template operator()<"limits.waiting">(settings.limits.waiting);
  visit.template operator()<"limits.waiting_of_user">(settings.limits.waiting_of_user);
  visit.template operator()<"limits.plan_bytes_of_user">(settings.limits.plan_bytes_of_user);
  visit.template operator()<"limits.stored_bytes_of_user">(settings.limits.stored_bytes_of_user);
  visit.template operator()<"limits.unread_of_user">(settings.limits.unread_of_user);
  visit.template operator()<"limits.import_bytes_of_user">(settings.limits.import_bytes_of_user);
  visit.template operator()<"limits.cache_of_user">(settings.limits.cache_of_user);
  visit.template operator()<"limits.turn">(settings.limits.turn);
  visit.template operator()<"machine.quiesce_for">(settings.quiesce_for);
  visit.template operator()<"notify.command">(settings.notify.command);
  visit.template operator()<"notify.when">(settings.notify.when);
  visit.template operator()<"notify.time_limit">(settings.notify.time_limit);
  visit.template operator()<"retention.output_days">(settings.retention.output_days);
  visit.template operator()<"retention.experiments_days">(settings.retention.experiments_days);
}

}  // namespace stab::settings
