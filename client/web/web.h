// SPDX-License-Identifier: MIT
// `stabctl watch --web`: a running experiment's report as a page that updates itself.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/follow.h"
#include "client/verbs.h"

namespace stab::client::web {

// As watch(), with a page at `where` (address.h) meanwhile. After the experiment's end it goes on
// until somebody who had looked has seen the last report, or a signal comes.
Result<int> watch(const Common& common, std::int64_t id, const std::string& where);

// The same for who follows a run of its own. An error if there can be no page at `where`.
Result<Follower> follower(const std::string& where);

}  // namespace stab::client::web
