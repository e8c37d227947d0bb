#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# systemd understands the units, and nothing in them filters the system calls of trials or hides things from them. What
# reaches trials all the same is named in doc/security.md.
set -euo pipefail
. "$1/tests/lib.sh"
# What is installed is what is looked at.
cmake -DCMAKE_INSTALL_PREFIX="$work/prefix" -P "$build_directory/systemd/cmake_install.cmake" >/dev/null
for unit in stabd.service stabd.socket; do
  [[ -f $work/prefix/lib/systemd/system/$unit ]] || { echo "FAILED: $unit is not installed"; exit 1; }
done
sed "s#^ExecStart=.*#ExecStart=$build_directory/bin/stabd#" "$work/prefix/lib/systemd/system/stabd.service" >"$work/stabd.service"
cp "$work/prefix/lib/systemd/system/stabd.socket" "$work"

said=$(systemd-analyze verify "$work/stabd.service" "$work/stabd.socket" 2>&1) || { echo "FAILED: $said"; exit 1; }
[[ -z $said ]] || { echo "FAILED: systemd says: $said"; exit 1; }
# What it does not know it says.
echo 'ProtectSytem=full' >>"$work/stabd.service"
said=$(systemd-analyze verify "$work/stabd.service" 2>&1 || true)
[[ $said == *ProtectSytem* ]] || { echo "FAILED: systemd-analyze does not see mistakes: $said"; exit 1; }
sed -i '$d' "$work/stabd.service"

secured=$(systemd-analyze security --offline=true --json=short "$work/stabd.service" |
  grep -oP '\{"set":true,"name":"\K[^"]+' | sort)
for wanted in 'CapabilityBoundingSet=~CAP_SYS_MODULE' 'CapabilityBoundingSet=~CAP_SYS_BOOT' 'UMask=' 'KeyringMode='; do
  grep -qxF "$wanted" <<<"$secured" || { echo "FAILED: $wanted is not secured"; exit 1; }
done
# Each would be in force in trials, too: filters of system calls, and what changes a program's rights, files or memory.
harmful='SystemCall|Restrict|LockPersonality|MemoryDeny|NoNewPrivileges|Private|ProtectClock|ProtectKernel|ProtectHome'
harmful+='|ProtectHostname|ProtectProc|ProcSubset|CAP_SET|CAP_SYS_ADMIN|CAP_KILL|CAP_CHOWN|CAP_SYS_PTRACE|CAP_SYS_NICE'
if bad=$(grep -E "$harmful" <<<"$secured"); then
  echo "FAILED: trials would feel $bad"
  exit 1
fi
# systemd-analyze does not count ProtectSystem=full as secured. So each setting of the service is known here: either it does
# not reach trials, or doc/security.md says what it does to them.
document=$1/doc/security.md
open_section=$(awk '/^## What the unit leaves open/ { on = 1; next } /^## / { on = 0 } on' "$document")
harmless='Type|ExecStart|ExecReload|Restart|TimeoutStartSec|TimeoutStopSec|WatchdogSec|KillMode|OOMPolicy|TasksMax'
harmless+='|StateDirectory|StateDirectoryMode|CacheDirectory|CacheDirectoryMode|UMask|KeyringMode'
exceptions=0
while IFS='=' read -r key value; do
  [[ ! $key =~ ^($harmless)$ ]] || continue
  case $key=$value in
    ProtectSystem=full) words=ProtectSystem=full ;;
    CapabilityBoundingSet=\~*) words=${value#\~} ;;
    *) echo "FAILED: $key=$value may reach trials"; exit 1 ;;
  esac
  exceptions=$((exceptions + 1))
  for word in $words; do
    grep -qF "\`$word\`" <<<"$open_section" || { echo "FAILED: $document does not say that $word reaches trials"; exit 1; }
  done
done < <(awk '/^\[/ { on = $0 == "[Service]"; next } on && /^[A-Za-z]+=/' "$work/stabd.service")
[[ $exceptions -eq 2 ]] || { echo "FAILED: $exceptions settings that reach trials were found"; exit 1; }
for line in "ExecReload=/bin/kill -HUP \$MAINPID" Type=notify KillMode=mixed OOMPolicy=continue TasksMax=infinity; do
  grep -qx "$line" "$work/stabd.service" || { echo "FAILED: the service lacks $line"; exit 1; }
done

# What is open has its reason in doc/security.md.
exposure=$(systemd-analyze security --offline=true "$work/stabd.service" | grep -oP 'exposure level.*: \K[0-9.]+')
grep -qF "an exposure of $exposure" "$document" || { echo "FAILED: $document does not say that the exposure is $exposure"; exit 1; }
mapfile -t reasons < <(grep '^| `' <<<"$open_section" | cut -d'|' -f2 | grep -oP '`\K[^`]+')
[[ ${#reasons[@]} -gt 20 ]] || { echo "FAILED: $document has no reasons"; exit 1; }
while read -r name; do
  for reason in "${reasons[@]}"; do [[ $name == "$reason"* ]] && continue 2; done
  echo "FAILED: $document has no reason why $name is open"
  exit 1
done < <(systemd-analyze security --offline=true --json=short "$work/stabd.service" | grep -oP '"set":(false|null),"name":"\K[^"]+')
