// SPDX-License-Identifier: MIT
// Runs build commands, each distinct one once: in a private copy of the sources, cached by the
// content of the command, the sources and the programs that it uses.
//
// Without a limit nothing is ever removed from the cache; with one, what no experiment uses
// (cache.h). Links of what a build left are not followed.
//
// The cache: KEY/out (what ${OUT} named), KEY/tree (the copy of the sources, kept only if the
// trials need it) and KEY/complete, written last. A folder without it, or whose binary has changed,
// is built anew.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "machine/child.h"
#include "machine/processes.h"
#include "stabd/protocol/work.h"
#include "stabd/worker/cache.h"
#include "stabd/worker/sources.h"

namespace stab::worker {

class Builder {
 public:
  // `bind` is called in each build's process; a build stops when `stop_fd` becomes readable.
  // `marker`: see protocol/containment.h.
  Builder(machine::Containment containment, int stop_fd, std::string marker,
          std::function<bool()> bind);

  // A failing build is a reply with its output, no error.
  protocol::BuildReply build(const protocol::BuildRequest& request);

 private:
  struct CacheFolder;
  [[nodiscard]] machine::Launch git() const;
  [[nodiscard]] LockWait wait_of(const protocol::BuildRequest& request) const;
  std::optional<protocol::BuildReply> cached(const CacheFolder& folder,
                                             const protocol::BuildRequest& request);
  std::optional<protocol::BuildReply> known(const protocol::BuildRequest& request);
  protocol::BuildReply find_or_build(const protocol::BuildRequest& request);
  Result<Sources> sources_for(const protocol::BuildRequest& request);
  protocol::BuildReply build_in(const CacheFolder& folder, const protocol::BuildRequest& request,
                                const Sources& sources);

  machine::Containment containment_;
  int stop_fd_;
  std::vector<std::string> environment_;
  std::function<bool()> bind_;
  std::map<std::string, Sources> taken_;  // by directory and names
  std::map<std::string, Fd> in_use_;      // locks of entries of the cache, until we end
};

}  // namespace stab::worker
