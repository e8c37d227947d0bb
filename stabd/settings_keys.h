// SPDX-License-Identifier: MIT
// All keys of stabd.toml, and the field of the settings that each of them sets.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "stabd/settings.h"
#include "toml/keys.h"

namespace stab::settings {

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
     "how many connections all users may have at once. Root and stabd's own user are exempt from "
     "the limits on connections and on the queue, and their connections and experiments do not "
     "count toward these limits"},
    {"limits.connections_of_user", toml::Count{1, 100'000, 16},
     "how many connections one user may have at once"},
    {"limits.waiting", toml::Count{1, 1'000'000, 1000}, "how many experiments the queue may hold"},
    {"limits.waiting_of_user", toml::Count{1, 1'000'000, 100},
     "how many experiments one user may have in the queue"},
    {"limits.plan_bytes_of_user", toml::Bytes{max_bytes, std::uint64_t{8} << 20},
     "total size of one user's plans in the queue"},
    {"limits.stored_bytes_of_user", toml::Bytes{max_bytes, std::uint64_t{10} << 30},
     "approximately how much space one user's experiments may take up in the database; above the "
     "limit, stabd starts no further experiments of this user, and the user's running experiment "
     "fails before its next trial"},
    {"limits.unread_of_user", toml::Bytes{max_bytes, std::uint64_t{64} << 20},
     "how many bytes of answers one user's clients may leave unread. If answers in memory exceed "
     "the limit, stabd disconnects the client that asks; if answers in files exceed the limit, "
     "that user's reports and exports wait"},
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
     "user. stabd refuses other users' plans in which a trial with its commands, a build, or a "
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
     "after how many days the output of an ended experiment's trials and builds is removed; 0: "
     "never"},
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
