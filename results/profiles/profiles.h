// SPDX-License-Identifier: MIT
// What `stabctl profile` answers: the functions of a trial, or which of them take longer in one cell
// of the plan than in another.
#pragma once

#include "base/error.h"
#include "protocol/run.h"
#include "store/reader.h"

namespace stab::results {

// An error where the plan asks for no profiles. A trial that lacks its own has the reason.
Result<protocol::ProfileReply> answer_profile(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const protocol::ProfileRequest& request);

}  // namespace stab::results
