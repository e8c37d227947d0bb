// SPDX-License-Identifier: MIT
// Writes into the file of the option places= (places.h). The file was mapped at start, so nothing
// here can fail later, neither in a sandbox nor without free descriptors.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"
#include "runtime/base/places.h"

namespace stab::rt {

// Leaves a file alone if it does not begin as places.h says.
void open_places(const Options& options);
bool places_wanted();

// Returns room for a record and this many bytes of items, or nullptr if there is no room; then the
// file has ended. The caller fills in everything but size and process, and then gives the record
// its kind.
places::Record* take_record(uint64_t item_bytes, uint64_t time_ns);
void give_kind(places::Record* record, places::Kind kind);

}  // namespace stab::rt
