// SPDX-License-Identifier: MIT
// Writes into the file of the option places= (places.h). All of it is memory that was mapped at
// start: nothing here can fail later, not in a sandbox and not without free descriptors.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"
#include "runtime/base/places.h"

namespace stab::rt {

// A file that does not begin as one of places.h is left alone.
void open_places(const Options& options);
bool places_wanted();

// Room for a record and this many bytes of items; nullptr: there is none, and the file has ended.
// The caller fills in all but size and process, and then gives it its kind.
places::Record* take_record(uint64_t item_bytes, uint64_t time_ns);
void give_kind(places::Record* record, places::Kind kind);

}  // namespace stab::rt
