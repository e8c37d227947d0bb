// SPDX-License-Identifier: MIT
// Where things are unless somebody says otherwise: by the XDG rules for a user, under /var and /run
// for root.
#pragma once

#include <string>
#include <vector>

namespace stab {

std::string default_state_directory();  // ~/.local/state/stabd or /var/lib/stabd
std::string default_cache_directory();  // ~/.cache/stabd or /var/cache/stabd
std::string default_settings_file();    // ~/.config/stabd/stabd.toml or /etc/stabd/stabd.toml
std::string default_socket_path();  // $XDG_RUNTIME_DIR/stabd/stabd.sock or /run/stabd/stabd.sock
// Where clients look for a daemon, in this order: the user's own, then the system's.
std::vector<std::string> sockets_of_daemons();

// A program of ours beside this one, or found from it when installed.
std::string companion(const std::string& name);

}  // namespace stab
