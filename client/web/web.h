// SPDX-License-Identifier: MIT
// `stabctl watch --web`: shows a running experiment's report as a page that updates itself.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/follow.h"
#include "client/verbs.h"

namespace stab::client::web {

// Like watch(), but also serves a page at `where` (see server.h). If somebody opened the page, it
// goes on after the experiment's end until a browser got the last report or a signal arrives.
Result<int> watch(const Common& common, std::int64_t id, const std::string& where);

// The same for a caller that follows its own run. Fails if no page can be served at `where`.
Result<Follower> follower(const std::string& where);

}  // namespace stab::client::web
