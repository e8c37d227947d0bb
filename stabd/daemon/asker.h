// SPDX-License-Identifier: MIT
// Somebody who waits for an answer: a client, as the parts of the daemon see it.
#pragma once

#include <functional>
#include <string>

namespace stab::daemon {

class Asker {
 public:
  Asker() = default;
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // The answer comes later, and further requests wait until then. `gone` is called if the client
  // goes first.
  virtual void await_answer(std::function<void()> gone) = 0;
  // Sends that answer, a line. The client's next request may be served inside of this call.
  virtual void answer(std::string line) = 0;

 protected:
  virtual ~Asker() = default;
};

}  // namespace stab::daemon
