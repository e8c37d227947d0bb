// SPDX-License-Identifier: MIT
// Where things are unless somebody says otherwise: by the XDG rules for a user, under /var and /run
// for root.
#pragma once

#include <string>
#include <vector>

namespace stab {

// The system's are root's; own(): those of whoever asks.
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
// Where clients look for a daemon, in this order: the user's own, then the system's.
std::vector<std::string> sockets_of_daemons();

// A program of ours beside this one, or found from it when installed.
std::string companion(const std::string& name);

}  // namespace stab
