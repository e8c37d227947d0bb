#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The report and the history as pages in a real browser, light and dark: they ask for nothing, complain of nothing, can be
# read, and fit a phone.
set -euo pipefail
. "$1/tests/lib.sh"
failed=0

# look PAGE [OPTION...]: what the harness saw in `seen`, and what the browser complained of in `console`. A browser that
# does not start is started again; one that has started has as long as it takes.
look() {
  local shown=$1
  shift
  sed "s|PAGE|$shown|" "$source_directory/tests/browser/harness.html" >"$work/harness.html"
  for _ in 1 2 3; do
    timeout -k 5 200 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
      --disable-background-networking --disable-component-update --allow-file-access-from-files --enable-logging=stderr \
      --user-data-dir="$work/profile" --virtual-time-budget=60000 "$@" --dump-dom "file://$work/harness.html" \
      >"$work/dom" 2>"$work/stderr" || true
    rm -rf "$work/profile"
    seen=$(sed -n '/<pre id="seen">/,/<\/pre>/p' "$work/dom")
    console=$(grep ':CONSOLE' "$work/stderr" || true)
    [[ $seen != *finished* ]] || return 0
  done
  echo "the browser did not finish:"
  tail -n 20 "$work/stderr"
  exit 1
}
expect() { grep -qF -- "$1" <<<"$seen" || { echo "$page: not seen: $1"; failed=1; }; }

cat >"$work/script.sh" <<'END'
cat <<JSON
{"context": {}, "benchmarks": [
 {"name": "<script>alert(1)</script>", "run_type": "iteration", "real_time": $1.$((RANDOM % 90 + 10)), "time_unit": "us"},
 {"name": "a_long_name_without_any_space_that_a_phone_of_four_hundred_pixels_cannot_show_in_one_line_of_text_at_all",
  "run_type": "iteration", "real_time": $1.$((RANDOM % 90 + 10)), "time_unit": "us"}]}
JSON
END
cat >"$work/plan.toml" <<'END'
[experiment]
name = "page"
question = "Is it <b>faster</b>?"
[[benchmark]]
name = "program"
repetitions = 6
run = ["/bin/bash", "script.sh", "${N}"]
[factor.n]
levels = { few = { N = "100" }, some = { N = "110" }, a_level_with_quite_a_long_name = { N = "200" } }
[factor.other]
levels = { yes = { O = "1" }, no = { O = "2" } }
[[measure.output]]
name = "time"
google_benchmark = "real_time"
[analysis]
response = "time"
END
sed -i 's|"${N}"\]|"${N}", "${O}"]|' "$work/plan.toml"
"$build_directory/bin/stabctl" run "$work/plan.toml" --state "$work/state" --html "$work/page.html" --fail-on trials \
  >/dev/null 2>"$work/run" || { cat "$work/run"; exit 1; }

# Twelve experiments, of which the last six are slower.
for value in 10.00 10.10 9.90 10.05 9.95 10.02 11.00 11.10 10.90 11.05 10.95 11.02; do
  cat >"$work/nightly.toml" <<END
[experiment]
name = "nightly"
[defaults]
repetitions = 2
[[benchmark]]
name = "program"
run = ["/bin/sh", "-c", "echo $value\${N} per"]
[factor.n]
levels = { few = { N = "1" }, a_level_with_quite_a_long_name = { N = "2" } }
[[measure.output]]
name = "rate"
regex = '([0-9.]+) per'
[analysis]
response = "rate"
END
  "$stabctl" run "$work/nightly.toml" --again --state "$work/nightly" --fail-on trials >/dev/null 2>"$work/run" ||
    { cat "$work/run"; exit 1; }
done
"$stabctl" history program --state "$work/nightly" --html "$work/history.html" >/dev/null 2>"$work/run" ||
  { cat "$work/run"; exit 1; }

# look_at PAGE PICTURES CAPTION: light and dark, narrow and wide; the page has at least so many pictures.
look_at() {
  local dark scheme width what
  for dark in false true; do
    page="$1, dark: $dark"
    scheme=$([[ $dark == true ]] && echo 0 || echo 1)
    look "$1" "--blink-settings=preferredColorScheme=$scheme"
    for width in narrow wide; do
      for what in closed scripts requests overflow flat cut overlaps pale; do expect "$width $what: 0"; done
      for what in dark "dark behind"; do expect "$width $what: $dark"; done
      expect "$width caption: $3"
    done
    [[ $(grep -oP 'narrow pictures: \K[0-9]+' <<<"$seen") -ge $2 ]] || { echo "$page: there are no $2 pictures"; failed=1; }
    [[ -z $console ]] || { echo "$page: the browser complains: $console"; failed=1; }
    [[ $failed == 0 ]] || { echo "$seen"; break; }
  done
}
look_at page.html 10 "program/&lt;script&gt;alert(1)&lt;/script&gt;"
look_at history.html 2 "n=few"

# The same look finds what is wrong with a page on which all of it is.
page=broken.html
sed -e "s|</main>|<p style=\"color: \#777; background: \#888\">pale</p><script>1</script><img src=\"http://127.0.0.1:9/x.png\"/><div style=\"width: 1300px\">x</div></main>|" \
  -e '0,/<text [^>]*>/s||<text x="470" y="20">much longer than the place</text><text x="4" y="20">over the other |' "$work/page.html" >"$work/broken.html"
look $page
expect "narrow scripts: 1"
expect "narrow cut: 1"
expect "narrow pale text: pale"
! grep -qF "narrow overlaps: 0" <<<"$seen" || { echo "texts that overlap were not seen"; failed=1; }
! grep -qE 'overflow: 0$' <<<"$seen" || { echo "an overflow was not seen"; failed=1; }
[[ $console == *"Content Security Policy"* ]] || { echo "the policy stopped nothing: $console"; failed=1; }
exit $failed
