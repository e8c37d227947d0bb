// SPDX-License-Identifier: MIT
// The two files that the runtime writes: the report, and the places of functions.
#pragma once

#include <stdint.h>

#include "runtime/base/line.h"
#include "runtime/base/options.h"
#include "runtime/base/places.h"

namespace stab::rt {

// The file of the option report=. The process that opened it appends lines, and each forked child
// that makes new layouts of its own appends one line.

// Remembers the file. The path is made absolute, because the program may change its directory.
void open_report(const Options& options);
bool report_wanted();
bool report_wanted_by_child();
// To be called in each child of fork. Afterwards report_wanted_by_child() may return true.
void note_fork();
// Nobody may read the report any more if it is a pipe. Then the line is lost, and the program gets
// no SIGPIPE. Returns false if the line could not be written.
bool write_line(const Line& line);
// The number of the process that opened the report.
uint64_t report_owner();
// Stops writing, unless the report is resumed. Returns false if it had ended before.
bool end_report();
void resume_report();

// Says that the report that the options ask for can't be written.
void complain_about_report(const Options& options);

// Writes one line to standard error, if somebody reads it.
void complain(const char* what, const char* detail);

// The file of the option places= (places.h). It is mapped at start, so writing into it cannot fail
// later, neither in a sandbox nor without free descriptors.

// Leaves the file alone if it does not begin as places.h says.
void open_places(const Options& options);
bool places_wanted();

// Returns room for a record and this many bytes of items, or nullptr if there is no room; then the
// file has ended. The caller fills in everything but size and process, and then gives the record
// its kind.
places::Record* take_record(uint64_t item_bytes, uint64_t time_ns);
void give_kind(places::Record* record, places::Kind kind);

}  // namespace stab::rt
