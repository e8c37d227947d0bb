// SPDX-License-Identifier: MIT
// Facts about this machine that stay the same until somebody changes them; load and current
// frequency are not among them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "machine/topology.h"

namespace stab::machine {

struct Facts {
  std::string host{};
  // A JSON object with sorted keys, on one line. A fact that cannot be read is {"absent": reason}.
  // Equal machines in equal states give equal texts.
  std::string facts_json{};
  std::string key{};           // SHA-256 of facts_json
  std::string kind{};          // as in StoredFacts
  std::string distribution{};  // "Debian GNU/Linux 12 (bookworm)"; "" if it is not known
};

// Never fails: a fact that can't be read is absent. `root` is a prefix for /proc, /sys and /etc,
// for tests. `host` is the machine's name in a cluster; "": the kernel's name for it.
Facts read_facts(const Topology& topology, const std::string& root = "",
                 const std::string& host = "");

// The facts that somebody else has read of another machine, from their JSON text. The key and the
// host come from the text, so nobody can give a machine's key other facts. Fails if read_facts()
// could not have written the text.
Result<Facts> facts_in(const std::string& facts_json);

struct Fact {
  std::string name{};   // "cpu_model", "topology cores"
  std::string value{};  // for people
};

// The facts that are stored as `facts_json`, as values. A stored text may come from an archive that
// anybody made, so each member may be empty.
struct StoredFacts {
  std::string host{};  // the name with which the summary and the hardware begin
  std::string summary{};
  // The beginning of the summary, which names the host and its hardware. It is the same under each
  // kernel and distribution. "" if these facts are missing.
  std::string hardware{};
  // The hardware without the host's name and without the size of the memory, of which the kernel
  // keeps more or less for itself.
  std::string kind{};
  std::string aslr{};       // the kernel's setting randomize_va_space
  std::vector<Fact> all{};  // in the order of the text
};
StoredFacts stored_facts(std::string_view facts_json);

}  // namespace stab::machine
