// SPDX-License-Identifier: MIT
// The file of the option report=. The process that opened it appends lines, and each forked child
// that makes new layouts of its own appends one line.
#pragma once

#include <stdint.h>

#include "runtime/base/line.h"
#include "runtime/base/options.h"

namespace stab::rt {

// Remembers the file. The path is made absolute, because the program may change its directory.
void open_report(const Options& options);
bool report_wanted();
bool report_wanted_by_child();
// To be called in a child of fork.
void note_fork();
void write_line(const Line& line);
// The number of the process that opened the report.
uint64_t report_owner();
// Stops writing, unless the report is resumed. Returns false if it had ended before.
bool end_report();
void resume_report();

// Writes one line to standard error.
void complain(const char* what, const char* detail);

}  // namespace stab::rt
