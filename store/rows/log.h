// SPDX-License-Identifier: MIT
// Reads an experiment's log, which merges three tables by time: the output of builds and trials,
// and events. Throws (see exceptions.h).
#pragma once

#include "store/connection.h"
#include "store/reader.h"

namespace stab::store {

Reader::Log log_of(Connection& connection, Id experiment, Reader::LogPlace after);

}  // namespace stab::store
