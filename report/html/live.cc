// SPDX-License-Identifier: MIT
#include "report/html/live.h"

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <string_view>
#include <utility>

#include "report/html/parts.h"

namespace stab::report::html {
namespace {

// The script contains no < or >, so that the page remains valid XML. While the user selects text,
// the script does not replace the report.
constexpr Literal script = R"(
(function () {
  'use strict';
  function live() { return document.getElementById('live'); }
  function rest(ms) { return new Promise(function (done) { setTimeout(done, ms); }); }
  function seen() {
    if (!document.hidden) return Promise.resolve();
    return new Promise(function (done) {
      document.addEventListener('visibilitychange', function () { done(seen()); }, {once: true});
    });
  }
  function words(each, inner) {
    const found = each ? each.querySelector(inner) : null;
    return found ? found.textContent.replace(/[0-9]+/g, '') : '';
  }
  function name(each) {
    const part = each.closest('section');
    return [part ? part.id : '', words(each.closest('figure'), 'figcaption'), words(each, 'summary')].join('/');
  }
  function show(page) {
    const next = page.getElementById('live');
    const same = next.dataset.report === live().dataset.report;
    const x = scrollX, y = scrollY, height = live().offsetHeight;
    if (same || !getSelection().isCollapsed) {
      if (!same) next.dataset.report = live().dataset.report;
      live().replaceWith(next);
    } else {
      const open = Array.from(document.querySelectorAll('details[open]'), name);
      document.body.replaceWith(page.body);
      document.querySelectorAll('details').forEach(function (each) { each.open = open.includes(name(each)); });
    }
    // The text that the user reads stays in its place if live(), above it, grows or shrinks.
    const above = live().offsetHeight - height;
    const place = Math.max(y, height) === y ? y + above : y;
    if (scrollX !== x || scrollY !== place) scrollTo(x, place);
    document.title = live().dataset.title;
  }
  async function follow() {
    let tag = '', failed = 0;
    document.title = live().dataset.title;
    while (live().dataset.final !== 'yes') {
      await rest(Number(live().dataset.pace));
      await seen();
      try {
        const answer = await fetch(location.pathname, {cache: 'no-store', headers: {'If-None-Match': tag}});
        if (!answer.ok && answer.status !== 304) throw new Error();
        if (answer.ok) {
          const text = await answer.text();
          tag = answer.headers.get('ETag');
          show(new DOMParser().parseFromString(text, 'text/html'));
        }
        failed = 0;
      } catch (problem) {
        failed += 1;
        if (failed !== 4) continue;
        live().querySelector('.gone').hidden = false;
        return;
      }
    }
  }
  document.addEventListener('DOMContentLoaded', follow);
})();
)";

constexpr Literal live_style = R"(
/* The script itself keeps what the user reads in its place. */
html { overflow-anchor: none; }
.live { background: var(--box); border: 1px solid var(--line); padding: .5rem 1rem; margin-bottom: 1rem; }
.live dl { margin: .4rem 0; }
.live progress { width: 100%; height: .8rem; }
.live .gone { color: var(--bad); }
)";

// A browser that does not run scripts reloads the whole page after this time.
constexpr int refresh_s = 10;

Markup script_part(const Live& live) {
  Markup markup;
  markup.add(policy_part(live_policy));
  markup.open("style").literal(live_style).close();
  markup.open("script").literal(script).close();
  if (!live.final)
    markup.open("noscript")
        .empty("meta", {{"http-equiv", "refresh"}, {"content", fmt::format("{}", refresh_s)}})
        .close();
  return markup;
}

Markup progress_part(const Live& live) {
  Markup markup;
  markup.open("aside", {{"id", "live"},
                        {"class", "live"},
                        {"data-title", live.title},
                        {"data-report", fmt::format("{}", live.report)},
                        {"data-pace", fmt::format("{}", live.pace.count())},
                        {"data-final", live.final ? "yes" : "no"}});
  markup.leaf("p", live.after, {{"class", "gone"}, {"hidden", "hidden"}});
  if (live.share)
    markup.leaf("progress", fmt::format("{:.0f} %", 100 * *live.share),
                {{"max", "1"}, {"value", fmt::format("{:.4f}", *live.share)}});
  markup.open("dl");
  for (const Fact& each : live.facts) markup.leaf("dt", each.name).leaf("dd", each.value);
  markup.close();
  if (!live.remark.empty()) markup.leaf("p", live.remark, {{"class", "words"}});
  return std::move(markup.close());
}

// A page for an experiment that has no report yet.
std::string bare_page(const Live& live) {
  Markup markup;
  markup.literal("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  markup.add(head_part(live.title, script_part(live)));
  markup.open("body").add(progress_part(live)).close().close();
  assert(markup.is_whole());
  return markup.str();
}

// Puts `added` in place of the first `place`, or right behind it. Returns false if there is no
// `place`.
bool put(std::string& text, std::string_view place, const std::string& added, bool behind) {
  const std::size_t at = text.find(place);
  if (at == std::string::npos) return false;
  if (behind)
    text.insert(at + place.size(), added);
  else
    text.replace(at, place.size(), added);
  return true;
}

}  // namespace

Literal live_script() {
  return script;
}

// Text from names, plans and programs is escaped, so only page() itself can have written the two
// places.
std::optional<std::string> live_page(const std::string& report, const Live& live) {
  if (report.empty()) return bare_page(live);
  std::string text = report;
  if (!put(text, policy_part(page_policy).str(), script_part(live).str(), false))
    return std::nullopt;
  if (!put(text, "<body>", progress_part(live).str(), true)) return std::nullopt;
  return text;
}

}  // namespace stab::report::html
