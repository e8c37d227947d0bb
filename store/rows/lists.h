// SPDX-License-Identifier: MIT
// Columns whose text is a list in JSON: the readings, samples and profile of a trial, and the nodes
// of an experiment. Reading returns what was written, and refuses any other text (exceptions.h),
// whoever wrote it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/readings.h"
#include "store/records.h"

namespace stab::store {

// Appends the text in quotes.
void add_text(std::string& to, const std::string& text);

// Reads a text from its beginning to its end, each byte once.
class ListScanner {
 public:
  // Errors name `column`.
  ListScanner(std::string_view column, std::string_view text) : column_(column), rest_(text) {}

  [[noreturn]] void wrong() const;
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

  bool take(char byte);
  bool take(std::string_view word);
  void expect(char byte);
  void read(std::string& text);
  double real();  // must be finite
  // The characters before the next comma or bracket, unchecked and not yet skipped.
  [[nodiscard]] std::string_view number_ahead() const;
  void skip(std::string_view ahead) { rest_.remove_prefix(ahead.size()); }

 private:
  std::string_view column_;
  std::string_view rest_;
};

// Converts the readings of a trial to the text of one column (doc/store.md, "Readings") and back:
//   [["page-faults","",12],["ratio","",0.5],["cycles","",9,0.25],["steal","ns",null,"no /proc"]]
// An element has name, unit and value. A scaled reading also has its coverage, and an absent one
// its reason and, unless it is 1, its coverage. A real number has a point or an exponent. A value
// that is not finite is written as absent.

std::string reading_list(const std::vector<counters::Reading>& readings);

// Reuses the memory of `readings`: for many trials with the same names it allocates nothing.
void read_reading_list(std::string_view text, std::vector<counters::Reading>& readings);

// Converts the samples of a trial to the text of one column (doc/store.md, "Samples") and back:
//   [["time","BM_insert/8","ns",[12.5,13]],["time","BM_erase/8","ns",null,"it ran out of keys"]]
// An element has measure, subject, unit and the list of values, or null and a reason instead of the
// list. Samples with a value that is not finite are written as absent.

std::string sample_list(const std::vector<counters::Samples>& samples);

// Reuses the memory of `samples`: for many trials with the same names it allocates nothing.
void read_sample_list(std::string_view text, std::vector<counters::Samples>& samples);

// Converts the profile of a trial to the text of one column (doc/store.md, "Profiles") and back:
//   ["task-clock:u","ns",997,0,[["sort","prog",451,452357000],["memcpy","libc.so.6",3,3009000]]]
//   ["cycles","",997,0,"this machine shows no hardware counters"]
// The numbers are samples per second, lost records, and the samples and weight of each function.
// Larger numbers are written as 2^63 - 1.

// "" if no profile was wanted.
std::string profile_text(const counters::Profile& profile);

// Reuses the memory of `profile`.
void read_profile_text(std::string_view text, counters::Profile& profile);

// Converts the nodes of an experiment to the text of one column (doc/store.md, "Tables") and back:
//   [["n1","AMD EPYC, 8 CPUs in 4 cores in 1 package","2-3",1.0]]
// An element has the name, the hardware, and the CPUs of the node's first trials. When the experiment
// has ended, it also has Node::times.

std::string node_list(const std::vector<Node>& nodes);
std::vector<Node> nodes_in(std::string_view text);

}  // namespace stab::store
