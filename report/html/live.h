// SPDX-License-Identifier: MIT
// The report as a page that a server shows while its experiment runs: what the file has (page.h), on
// top how far it is, and one script. It asks the page's own server for the next one while the page
// is seen, and leaves open what is open; P2 holds, and of P1 that nothing else is ever asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/drawing/markup.h"
#include "report/html/background.h"

namespace stab::report::html {

struct Live {
  std::string title{};               // of the window
  std::vector<Fact> facts{};         // how far it is
  std::optional<double> share{};     // done, of 1
  std::string remark{};              // about the report below, or why there is none
  std::string after{};               // what to do when nobody answers any more
  std::uint64_t report = 0;          // rises with each report
  std::chrono::milliseconds pace{};  // until the page asks again
  bool final = false;                // nothing changes any more: it does not ask
};

// What a browser may do with such a page: run the script and ask its own server.
inline constexpr Literal live_policy =
    "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; "
    "script-src 'sha256-gdU8qCT5gPi5vwyZT3s3zhtK75pCe+9rUrpH3sJDcKc='";
// For the test of the policy.
Literal live_script();

// `report`: what page() made, or "": there is none yet. Nothing if it is something else.
std::optional<std::string> live_page(const std::string& report, const Live& live);

}  // namespace stab::report::html
