// SPDX-License-Identifier: MIT
// Imports of archives that a reader has verified and split into parts. The store takes the parts
// piece by piece, and users take turns.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "base/turns.h"
#include "stabd/archive/intake.h"
#include "stabd/archive/spool.h"
#include "stabd/daemon/asker.h"
#include "stabd/upkeep/upkeep.h"
#include "store/store.h"

namespace stab::daemon {

class Imports {
 public:
  // An import that is given up leaves its rows to `upkeep`.
  Imports(store::Store& store, upkeep::Upkeep& upkeep) : store_(store), upkeep_(upkeep) {}

  // Adds the import of a client's archive. `spool` has the archive's parts. It is the client's own
  // one, which is released when the client is answered.
  Result<void> begin(Asker& client, std::uint32_t uid, std::shared_ptr<archive::Spool>& spool);
  // Call this if the client goes before its answer.
  void give_up(const Asker& client);
  [[nodiscard]] bool empty() const { return imports_.empty(); }
  // Does a piece of the work; requires !empty(). The client is answered after the last piece.
  // Returns only errors that may pass with time; all others are the answer to the client.
  store::Outcome<void> go_on();

 private:
  struct Import {
    Asker* client;
    std::uint32_t uid;
    std::shared_ptr<archive::Spool>* spool;
    archive::Intake intake;
  };

  store::Store& store_;
  upkeep::Upkeep& upkeep_;
  Turns<Import> imports_;
};

}  // namespace stab::daemon
