// SPDX-License-Identifier: MIT
// What an experiment printed and what happened to it, from three tables by time. Throws (see
// failure.h).
#pragma once

#include "store/connection.h"
#include "store/reader.h"

namespace stab::store {

Reader::Log log_of(Connection& connection, Id experiment, Reader::LogPlace after);

}  // namespace stab::store
