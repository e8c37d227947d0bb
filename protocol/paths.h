// SPDX-License-Identifier: MIT
// Default paths. A user's paths follow the XDG rules; root's are under /var, /run and /etc.
#pragma once

#include <string>
#include <vector>

namespace stab {

// Root uses the system's paths. own() says which ones the caller uses.
enum class Whose { system, user };
Whose own();

// ~/.local/state/stabd or /var/lib/stabd
std::string default_state_directory(Whose whose = own());
// ~/.cache/stabd or /var/cache/stabd
std::string default_cache_directory(Whose whose = own());
// ~/.config/stabd/stabd.toml or /etc/stabd/stabd.toml
std::string default_settings_file(Whose whose = own());
// $XDG_RUNTIME_DIR/stabd/stabd.sock or /run/stabd/stabd.sock
std::string default_socket_path(Whose whose = own());
// The sockets at which clients look for a daemon, in this order: the user's own, then the system's.
std::vector<std::string> sockets_of_daemons();

// The path of another program of ours, in the folder of this program; only `name` if that is
// unknown.
std::string companion(const std::string& name);

}  // namespace stab
