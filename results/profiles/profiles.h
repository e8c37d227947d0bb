// SPDX-License-Identifier: MIT
// Answers `stabctl profile`: lists the functions of a trial, or the functions that take longer in
// one cell of the plan than in another.
#pragma once

#include "base/error.h"
#include "protocol/run.h"
#include "store/reader.h"

namespace stab::results {

// Fails if the plan does not ask for profiles. For a trial without a profile, the answer states the
// reason.
Result<protocol::ProfileReply> answer_profile(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const protocol::ProfileRequest& request);

}  // namespace stab::results
