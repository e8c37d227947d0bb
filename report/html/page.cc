// SPDX-License-Identifier: MIT
#include "report/html/page.h"

#include <cassert>
#include <utility>

#include "report/html/markup.h"
#include "report/html/parts.h"
#include "report/html/style.h"

namespace stab::report::html {
namespace {

// P1: what a browser may load. It is the page's own policy, so it holds where the file is opened.
constexpr const char* policy = "default-src 'none'; style-src 'unsafe-inline'";

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

}  // namespace

std::string page(const Document& document, const Background& background) {
  Markup markup;
  markup.literal("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  add_head(markup, document.experiment + " - stabd");
  markup.open("body").add(summary_part(document)).open("main");
  markup.add(machine_part(document, background))
      .add(chance_part(background))
      .add(plan_part(document, background))
      .add(text_part(document));
  markup.close().close().close();
  assert(markup.is_whole());
  return markup.str();
}

}  // namespace stab::report::html
