// SPDX-License-Identifier: MIT
// Runs each distinct build command once, in a private copy of the sources. A build's key in the
// cache is a digest of its command, its sources and the programs that it uses. Builds that come
// next run at the same time, as many as the CPUs and the memory allow.
//
// The cache is cut to the request's limit; without a limit, entries are removed only if the disk is
// full. Entries in use stay (build_cache.h). Links that a build left are not followed.
//
// The cache has KEY/out (the file that ${OUT} names), KEY/tree (the copy of the sources, kept only
// if the trials need it) and KEY/complete, which is written last. A folder without KEY/complete, or
// whose binary has changed, is built again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "machine/measured_run.h"
#include "machine/processes.h"
#include "protocol/work.h"
#include "worker/build_cache.h"
#include "worker/sources.h"

namespace stab::worker {

// The next two functions find the programs that a build command uses, so that another version of a
// compiler makes another build.

// The words of a shell command that may name a program, each once. The command is cut at spaces,
// quotes, '=' and shell operators.
std::vector<std::string> words_of(std::string_view command);

// Returns a text that changes if one of the command's programs, or one of the usual compilers and
// linkers behind them, is replaced. It has the real path, size and modification time of each of
// these programs that PATH has. szc also reports the parts that it brings along: its linker, its
// runtime and its pass.
std::string toolchain(std::string_view command, const std::vector<std::string>& environment,
                      machine::Containment containment = machine::Containment::process_tree);

class Builder {
 public:
  // `bind` is called in each build's process. A build stops when `stop_fd` becomes readable. For
  // `marker` see protocol/containment.h.
  Builder(machine::Containment containment, int stop_fd, std::string marker,
          std::function<bool()> bind);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // At most this many builds run at the same time; the default is one.
  void run_at_once(std::size_t builds) { at_once_ = builds; }

  // A failed build is a reply with its output, not an error. The builds that come next may start
  // meanwhile and continue after this call. Each of them has a process of its own, because the end
  // of a build ends everything that it started.
  protocol::BuildReply build(const protocol::BuildRequest& request);
  // The next two let a program travel to another machine whose cache has the same path.

  // Returns a piece of the file ${OUT} of a build that this builder has made or found. Fails if the
  // build made other files, too, because the program may need them.
  [[nodiscard]] protocol::FetchReply fetch(const protocol::FetchRequest& request) const;
  // Keeps a piece of such a program. After the last piece, the build is in the cache if the program
  // has the digest that the request names; then the next build() with its key finds it.
  protocol::KeepReply keep(const protocol::KeepRequest& request);
  // Whether a build is running that nobody has asked for yet.
  [[nodiscard]] bool runs_ahead() const;
  // Ends builds that nobody has asked for yet.
  void stop_ahead();

 private:
  struct CacheFolder;
  // A build in a process of its own.
  struct Ahead {
    protocol::BuildRequest request;
    pid_t pid = 0;
    Fd said{};  // the pipe from which we read the build's reply
    std::string text{};
    bool has_ended = false;
  };
  void begin_ahead(const protocol::BuildRequest& request);
  Result<Ahead> start_ahead(const protocol::BuildRequest& request);
  void wait_for_one();
  void wait_for_all();
  void tell_to_stop();
  std::optional<protocol::BuildReply> take_ahead(const protocol::BuildRequest& request);
  [[nodiscard]] machine::Launch git() const;
  [[nodiscard]] LockWait wait_of(const protocol::BuildRequest& request) const;
  std::optional<protocol::BuildReply> cached(const CacheFolder& folder,
                                             const protocol::BuildRequest& request);
  std::optional<protocol::BuildReply> known(const protocol::BuildRequest& request);
  protocol::BuildReply find_or_build(const protocol::BuildRequest& request);
  Result<Sources> sources_for(const protocol::BuildRequest& request);
  protocol::BuildReply build_in(const CacheFolder& folder, const protocol::BuildRequest& request,
                                const Sources& sources);
  Result<void> put_in_cache(const protocol::KeepRequest& request);

  machine::Containment containment_;
  int stop_fd_;
  std::vector<std::string> environment_;
  std::function<bool()> bind_;
  std::map<std::string, Sources> taken_;  // by directory and names
  std::map<std::string, Fd> in_use_;      // locks of cache entries, until this process ends
  std::size_t at_once_ = 1;
  std::vector<Ahead> ahead_;  // in the order of their requests
  // The build whose pieces arrive, and the bytes of its program that have arrived.
  std::optional<Draft> arriving_{};
  std::string arriving_key_{};
  std::uint64_t arrived_ = 0;
  Fd stops_ahead_{};  // becomes readable when the builds ahead must stop
  Fd stop_ahead_{};
  bool is_stopping_ = false;
};

}  // namespace stab::worker
