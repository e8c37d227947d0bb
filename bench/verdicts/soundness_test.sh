#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A short form of bench/soundness: verdicts are as seldom wrong as reports say, also on events that take turns, and
# 'stabctl analyze' says of the same data what the simulated functions say; beside a control, no verdict contradicts it.
set -euo pipefail
build_dir=$2
"$build_dir/bench/soundness" --experiments 400
"$build_dir/bench/soundness" --through "$build_dir/bin/stabctl" --experiments 3
"$build_dir/bench/turns_soundness" "$build_dir/bin/stabctl" 150
"$build_dir/bench/control_soundness" "$build_dir/bin/stabctl" 40 --nothing-only
