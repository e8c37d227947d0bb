// SPDX-License-Identifier: MIT
// The page that a server shows while an experiment runs: the report's file (page.h) with the
// experiment's progress on top, and a script. While the page is visible, the script asks the page's
// own server for the next version; open details remain open. P2 holds. P1 holds except for this
// script and its requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/html/markup.h"
#include "report/html/page.h"

namespace stab::report::html {

struct Live {
  std::string title{};               // the window's title
  std::vector<Fact> facts{};         // the experiment's progress
  std::optional<double> share{};     // the share that is done, from 0 to 1
  std::string remark{};              // about the report below, or why there is no report
  std::string after{};               // what to do if the server no longer answers
  std::uint64_t report = 0;          // higher for each new report
  std::chrono::milliseconds pace{};  // until the page asks again
  bool final = false;                // nothing will change, so the page stops asking
};

// The policy of a live page: the browser may run this script and ask the page's own server.
inline constexpr Literal live_policy =
    "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; "
    "script-src 'sha256-q7azvaD+oEFxR4UsudizvLyzJLeLoNK/MHwCLLNkKDY='";
// For the test that compares the script with the hash in the policy.
Literal live_script();

// `report` is the result of page(), or "" if there is no report yet. Returns nothing for any other
// text.
std::optional<std::string> live_page(const std::string& report, const Live& live);

}  // namespace stab::report::html
