// SPDX-License-Identifier: MIT
// One link from beginning to end: what ld.stab does once it knows its command line and its
// settings.
#pragma once

#include "base/error.h"
#include "instrumenter/driver/linking/link_command.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {

// The settings that szc, or the user, put into the environment.
Result<LinkSettings> read_link_settings();

// Why the output of this link cannot be randomized, as a phrase; "" if it can.
std::string obstacle(const LinkArguments& link, const LinkSettings& settings,
                     const Companions& companions);

// Links, and runs the post-link step if nothing is in its way. If the step fails, the user's own
// link is made, or, under `strict`, it is an error. Notes go to stderr.
Result<Ending> run_link(const LinkArguments& link, const LinkSettings& settings,
                        const Companions& companions);

}  // namespace stab::driver
