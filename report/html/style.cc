// SPDX-License-Identifier: MIT
#include "report/html/parts.h"
#include "stats/verdicts/decide.h"

namespace stab::report::html {

std::string colour_of(const stats::Analysis& analysis, const stats::Effect& effect) {
  if (stats::is_control(effect, analysis.spec)) return no_verdict;
  switch (effect.verdict) {
    case stats::Verdict::faster:
      return "good";
    case stats::Verdict::slower:
      return "bad";
    case stats::Verdict::same:
      return "alike";
    case stats::Verdict::unsure:
      break;
  }
  return no_verdict;
}

Literal style() {
  return R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b2129; --faint: #566070; --line: #d7dde5;
  --box: #f4f6f9; --shade: #eef1f6; --good: #146c35; --bad: #b3261e; --link: #0b5cad;
  --c0: #0b62c4; --c1: #92610a; --c2: #7c3aed; --c3: #0e7490; --c4: #a21caf; --c5: #1e3a8a;
  --c6: #78350f; --c7: #4d5566; }
@media (prefers-color-scheme: dark) { :root { --back: #14181e; --text: #e3e8ef; --faint: #9da9b8;
  --line: #343d49; --box: #1d232b; --shade: #1f2731; --good: #63d58c; --bad: #ff8a80;
  --link: #7db8ff; --c0: #6cb2ff; --c1: #e5b567; --c2: #bda2ff; --c3: #4fd1d9; --c4: #f29bf0;
  --c5: #9db4ff; --c6: #d6a37c; --c7: #aab4c3; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.1rem; margin: 0; color: var(--faint); font-weight: 600; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .4rem 0; }
.question { font-size: 1.15rem; margin-top: .2rem; }
.answer { background: var(--box); border-left: .3rem solid var(--c7); padding: .6rem 1rem;
  margin: .8rem 0; font-size: 1.15rem; font-weight: 600; }
.answer p + p { font-size: 1rem; font-weight: 400; }
.answer.better { border-color: var(--good); }
.answer.worse { border-color: var(--bad); }
.answer.alike { border-color: var(--c0); }
.words { color: var(--faint); max-width: 48rem; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .3rem 1rem; margin: .8rem 0; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
ul.notes { padding-left: 1.2rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1.5rem 2rem; }
.one figure { max-width: 44rem; }
figure { margin: .8rem 0 0; min-width: 0; }
figcaption { font-weight: 600; }
svg { display: block; width: 100%; height: auto; margin: .4rem 0; }
svg text { paint-order: stroke; stroke: var(--back); stroke-width: 3px; fill: var(--text); font: 12px system-ui, sans-serif; }
svg .tick, svg .axis { fill: var(--faint); font-size: 11.5px; }
@media (max-width: 30rem) { svg text { font-size: 14px; } svg .tick, svg .axis { font-size: 13px; } }
svg .strong { font-weight: 600; }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg line { stroke: currentColor; }
svg .grid { stroke: var(--line); }
svg .zero { stroke: var(--faint); stroke-width: 1.5; }
svg .shade { fill: var(--shade); }
svg .thin { stroke-width: 1.2; }
svg .thick { stroke-width: 2.5; }
svg .mean { stroke: var(--text); stroke-width: 1.6; }
svg .guide { stroke: var(--faint); stroke-dasharray: 4 3; }
svg circle.hollow { fill: none; stroke-width: 1.6; }
svg circle.faint { fill-opacity: .55; }
svg rect.faint { fill-opacity: .35; }
.c0 { fill: var(--c0); stroke: var(--c0); } .c1 { fill: var(--c1); stroke: var(--c1); }
.c2 { fill: var(--c2); stroke: var(--c2); } .c3 { fill: var(--c3); stroke: var(--c3); }
.c4 { fill: var(--c4); stroke: var(--c4); } .c5 { fill: var(--c5); stroke: var(--c5); }
.c6 { fill: var(--c6); stroke: var(--c6); } .c7 { fill: var(--c7); stroke: var(--c7); }
svg .good { fill: var(--good); stroke: var(--good); } svg .bad { fill: var(--bad); stroke: var(--bad); }
svg .alike { fill: var(--c0); stroke: var(--c0); }
svg .back { fill: var(--back); stroke: none; }
svg .failed { stroke: var(--bad); stroke-width: 2; fill: none; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; margin: .2rem 0; font-size: .9rem; }
.key { display: inline-block; width: .75rem; height: .75rem; border-radius: 50%; }
.key.c0 { background: var(--c0); } .key.c1 { background: var(--c1); } .key.c2 { background: var(--c2); }
.key.c3 { background: var(--c3); } .key.c4 { background: var(--c4); } .key.c5 { background: var(--c5); }
.key.c6 { background: var(--c6); } .key.c7 { background: var(--c7); }
details { margin: .3rem 0; }
summary { cursor: pointer; color: var(--link); font-size: .9rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .85rem; overflow-wrap: normal; }
th, td { text-align: left; padding: .15rem .7rem .15rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--box); padding: .7rem; overflow-x: auto; font-size: .8rem; line-height: 1.4; margin: .3rem 0; }
code { font-size: .85em; }
@media print { :root { color-scheme: light; --back: #fff; --text: #000; --faint: #444; --line: #bbb;
  --box: #f2f2f2; --shade: #ececec; --good: #146c35; --bad: #b3261e; --link: #000; --c0: #0b62c4;
  --c1: #92610a; --c2: #7c3aed; --c3: #0e7490; --c4: #a21caf; --c5: #1e3a8a; --c6: #78350f; --c7: #4d5566; }
  body { max-width: none; font-size: 10pt; } figure, tr, dl { break-inside: avoid; }
  pre { white-space: pre-wrap; } .scroll { overflow: visible; } svg { max-width: 13cm; } }
)";
}

}  // namespace stab::report::html
