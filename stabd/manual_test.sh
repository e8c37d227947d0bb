#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual pages have all that --help has, roff takes them without a warning, and they are installed.
set -euo pipefail
. "$1/tests/lib.sh"

pages=$2/stabd
for page in stabctl.1 stabd.8 szc.1; do
  groff -man -Tutf8 -ww -P-cbou "$pages/$page" >"$work/$page" 2>"$work/said"
  [[ ! -s $work/said ]] || fail "roff says of $page: $(head -n 5 "$work/said")"
done

# in_page PAGE WORD: it stands there, as roff shows it.
in_page() { grep -qF -e "$2" "$work/$1" || fail "$2 is not in $1"; }
count=0
while read -r option; do
  in_page stabctl.1 "$option"
  count=$((count + 1))
done < <("$2/bin/stabctl" help --json | grep '"name"' | grep -oE -e '--[a-z][a-z-]+' | sort -u)
[[ $count -gt 50 ]] || fail "only $count options were looked for"
while read -r option; do in_page stabd.8 "$option"; done < <("$2/bin/stabd" --help | grep -oE '^  (-h,)?--[a-z-]+' | tr -d ' ' | sed 's/^-h,//')
while read -r option; do in_page szc.1 "$option"; done < <("$2/bin/szc" --stab-help | grep -oE -e '--stab-[a-z-]+' | sort -u)
in_page stabctl.1 "stabctl quiet apply"
in_page stabctl.1 "128+N"
in_page stabctl.1 "stabctl ab -- 'sort -n numbers' 'sort -g numbers'"
# Whoever builds it, the page is about the system's daemon.
in_page stabd.8 "/var/lib/stabd"
! grep -q "$HOME/" "$work/stabd.8" "$work/stabctl.1" || fail "a page names a folder of whoever built it"

# A verb of its own.
"$2/bin/stabctl" help --man quiet apply >"$work/part"
groff -man -Tutf8 -ww -P-cbou "$work/part" 2>&1 | grep -q "stabctl-quiet-apply  *-  *Change" || fail "no page of quiet apply"

DESTDIR=$work/root cmake -DCMAKE_INSTALL_PREFIX=/usr -P "$pages/cmake_install.cmake" >/dev/null
for file in man/man1/stabctl.1 man/man1/szc.1 man/man8/stabd.8 bash-completion/completions/stabctl zsh/site-functions/_stabctl \
  fish/vendor_completions.d/stabctl.fish; do
  [[ -s $work/root/usr/share/$file ]] || fail "$file is not installed"
done
