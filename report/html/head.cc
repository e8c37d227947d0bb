// SPDX-License-Identifier: MIT
#include "report/html/head.h"

#include "report/html/parts.h"

namespace stab::report::html {
namespace {

// P1: what a browser may load. It is the page's own policy, so it holds where the file is opened.
constexpr const char* policy = "default-src 'none'; style-src 'unsafe-inline'";

}  // namespace

void add_head(Markup& markup, const std::string& title) {
  markup.open("head")
      .empty("meta", {{"charset", "utf-8"}})
      .empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy}})
      .empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}})
      .empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}})
      .leaf("title", title)
      .open("style")
      .literal(style())
      .close()
      .close();
}

}  // namespace stab::report::html
