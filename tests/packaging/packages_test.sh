#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packages_test.sh SOURCE BUILD: Debian's packages are installed, run and purged in a copy of this root whose changes are
# kept apart (overlayfs), where neither sources nor build tree are; afterwards those changes are looked through.
set -euo pipefail
. "$1/tests/lib.sh"
if [[ ${3-} != inside ]]; then
  reason=$(unshare -m true 2>&1) || skip_all "no mounts of its own here: $reason"
  # Mounts end with their namespace, however the test ends.
  code=0
  unshare -m "$0" "$source_directory" "$build_directory" inside "$work" || code=$?
  exit "$code"
fi

# The script outside removes its folder when all mounts in it are gone.
rmdir "$work"
trap - EXIT
work=$4
# mounted ARGUMENT...: where that is forbidden nothing can be tried.
mounted() {
  local said
  said=$(mount "$@" 2>&1) || skip_all "mount $* is refused here: $said"
}
mounted --make-rprivate /
mounted -t tmpfs -o mode=755 tmpfs "$work"
mkdir -p "$work"/{packages,upper,work,root} "$work"/mask/{etc,var/{lib,cache}}
root=$work/root
# What another stabd has on this machine is not seen: such a device is overlayfs' mark of what was removed.
for folder in etc var/lib var/cache; do mknod "$work/mask/$folder/stabd" c 0 0 || skip_all "no mknod"; done
mounted -t overlay overlay -o "lowerdir=$work/mask:/,upperdir=$work/upper,workdir=$work/work" "$root"
mounted -t proc proc "$root/proc"
mounted --rbind /sys "$root/sys"
mounted --rbind /dev "$root/dev"
mounted -t tmpfs tmpfs "$root/run"
mounted -t tmpfs -o mode=1777 tmpfs "$root/tmp"

(cd "$work" && cpack -G DEB --config "$build_directory/CPackConfig.cmake" -B "$work/packages" >"$work/said" 2>&1) || fail "$(cat "$work/said")"
[[ $(find "$work/packages" -maxdepth 1 -name '*.deb' | wc -l) == 4 ]] || fail "cpack made $(ls "$work/packages")"
cp "$work/packages"/*.deb "$root/tmp"
cp -r "$source_directory/tests/packaging" "$root/tmp/packaging"
# What is not in the packages is nowhere. Its own tmpfs hides a root below /tmp already.
for folder in "$source_directory" "$build_directory"; do
  [[ ! -d $root$folder ]] || mount -t tmpfs tmpfs "$root$folder"
done
for folder in etc var/lib var/cache; do [[ ! -e $root/$folder/stabd ]] || fail "another stabd's /$folder/stabd is seen"; done
# A setting of the machine that can be changed here.
echo 60 >"$work/swappiness"
mount --bind "$work/swappiness" "$root/proc/sys/vm/swappiness"

inside() { env -i HOME=/root PATH=/tmp/first:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 chroot "$root" /bin/bash -euc "$1"; }
# step NAME COMMANDS
step() { inside "$2" >"$work/said" 2>&1 || fail "$1: $(cat "$work/said")"; }

step 'installation' 'cd /tmp; dpkg -i ./*.deb'
grep -iE 'warning|error' "$work/said" && fail "dpkg warns"
[[ -x $root/usr/bin/stabd && -e $root/usr/lib/systemd/system/stabd.socket ]] || fail "the daemon is not installed"
[[ $(<"$root/usr/lib/pam.d/stabd") == "$(<"$source_directory/packaging/stabd/pam")" ]] || fail "PAM has no service for users' limits"
# Nothing is started, nor will be at the next start of the machine.
[[ ! -e $root/run/stabd && -z $(find "$work/upper/etc/systemd" -name '*stabd*' 2>/dev/null) ]] || fail "the daemon is enabled"

step 'szc' 'cd /tmp/packaging/project
  szc -O2 -o /tmp/moving main.cc squares.c && [[ $(/tmp/moving) == 25 ]] && szc --stab-explain /tmp/moving >/dev/null
  szc++ -O2 -o /tmp/moving main.cc -x c squares.c && [[ $(/tmp/moving) == 25 ]]'
step 'pkg-config and CMake' 'cmake -G Ninja -S /tmp/packaging/project -B /tmp/project -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22
  cmake --build /tmp/project; [[ $(/tmp/project/moving) == 25 ]]; szc --stab-explain /tmp/project/moving >/dev/null
  [[ $(pkg-config --variable=szc stabilizer) -ef /usr/bin/szc ]]'
step 'a run without a daemon' 'stabctl run /tmp/packaging/plan.toml'
grep -qE 'Trials +6 ok' "$work/said" || fail "the run says: $(cat "$work/said")"
step 'a run of a user' 'HOME=/tmp/nobody setpriv --reuid 65534 --regid 65534 --clear-groups stabctl run /tmp/packaging/plan.toml'
grep -qE 'Trials +6 ok' "$work/said" || fail "the run of a user says: $(cat "$work/said")"
step 'a causal profile' 'clang-22 -O1 -g $(pkg-config --cflags stabilizer) -o /tmp/rounds /tmp/packaging/rounds.c
  stabctl causal --scope "*/rounds.c" --runs 1 --experiment 20ms --json -- /tmp/rounds'
grep -qxF /usr/lib/stabd/libstabcausal.so "$work/said" || fail "another library profiles: $(cat "$work/said")"
grep -qF '"name": "round"' "$work/said" || fail "causal says: $(cat "$work/said")"
step 'a daemon' 'stabd & daemon=$!
  trap "kill $daemon; wait $daemon || true" EXIT
  until [[ -S /run/stabd/stabd.sock ]]; do kill -0 "$daemon"; sleep 0.1; done
  stabctl submit /tmp/packaging/heap.toml && stabctl watch 1 && stabctl report 1'
grep -qE 'Trials +6 ok' "$work/said" || fail "the report is: $(cat "$work/said")"
[[ -s $root/var/lib/stabd/stabd.db && -d $root/var/cache/stabd ]] || fail "the daemon has its database elsewhere"

# stabctl works without szc, and says what needs it.
step 'no szc' 'dpkg -r szc; ! stabctl causal -- /tmp/rounds; stabctl runs'
grep -qF 'install the szc package' "$work/said" || fail "without szc causal says: $(cat "$work/said")"
step 'szc again' 'cd /tmp; dpkg -i ./szc_*.deb'

# What only an administrator does.
step 'settings' 'mkdir -p /etc/stabd; stabd --check >/etc/stabd/stabd.toml; stabd --check >/dev/null'
step 'systemctl enable' 'systemctl enable stabd.socket stabd.service'
[[ -L $root/etc/systemd/system/multi-user.target.wants/stabd.service &&
  -L $root/etc/systemd/system/sockets.target.wants/stabd.socket ]] || fail "systemd does not know the units"
step 'a quiet machine' 'stabctl quiet apply --knobs swappiness'
[[ $(cat "$work/swappiness") != 60 ]] || fail "quiesce changed nothing: $(cat "$work/said")"

step 'removal' 'dpkg -r stabctl szc stabd libstabilizer-dev'
[[ $(cat "$work/swappiness") == 60 ]] || fail "removal leaves the machine quiet: $(cat "$work/said")"
[[ ! -e $root/usr/bin/stabd && -s $root/var/lib/stabd/stabd.db && -s $root/etc/stabd/stabd.toml ]] ||
  fail "removal takes too little or too much"

# Where systemd runs it is told; this stands in for it and writes down what it hears.
mkdir -p "$root/run/systemd/system" "$root/tmp/first"
printf '#!/bin/sh\necho "$*" >>/tmp/heard\n' >"$root/tmp/first/systemctl"
chmod +x "$root/tmp/first/systemctl"
step 'installation under systemd' 'cd /tmp; dpkg -i ./*.deb; stabctl runs; dpkg -i ./stabd_*.deb; dpkg -r stabctl stabd szc libstabilizer-dev'
expected='daemon-reload
try-restart stabd.service
daemon-reload
try-restart stabd.service
stop stabd.socket stabd.service
daemon-reload'
[[ $(grep -v -- '--version' "$root/tmp/heard") == "$expected" ]] || fail "systemd hears: $(cat "$root/tmp/heard")"

step 'purge' 'dpkg --purge stabctl stabd szc libstabilizer-dev'
step 'purge' '! dpkg-query -W stabd stabctl szc libstabilizer-dev 2>/dev/null'
for folder in etc run var/lib var/cache; do [[ ! -e $root/$folder/stabd ]] || fail "purge leaves /$folder/stabd"; done
# dpkg's own books and caches of others are no part of the packages.
left=$(cd "$work/upper" && find . -mindepth 1 | sort | while read -r file; do
  case $file in
    ./var/lib/dpkg/* | ./var/log/* | ./var/cache/man/* | ./var/cache/ldconfig/* | ./etc/ld.so.cache) continue ;;
  esac
  # A folder that was there before is only a copy.
  [[ -d $file && -d /$file ]] || echo "$file"
done)
[[ -z $left ]] || fail "purge leaves, or something was changed: $left"
