#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 'stabctl sql' answers any SELECT, and changes nothing whatever it is given.
set -euo pipefail
. "$1/tests/lib.sh"
cd "$work"

printf '[experiment]\nname = "kept"\n[[benchmark]]\nname = "b"\nrun = ["true"]\nrepetitions = 3\n' >plan.toml
"$stabctl" run --state run plan.toml >/dev/null 2>log || fail "$(cat log)"

sql() { "$stabctl" sql --state run "$@"; }
is() { # is EXPECTED ARGUMENTS...
  local expected=$1 got
  shift
  got=$(sql "$@") || fail "it is refused: $*"
  [[ $got == "$expected" ]] || fail "'$got' and not '$expected': $*"
}
is $'name  state\nkept  done' 'SELECT name, state FROM experiment'
is $'n\n3' "SELECT count(*) AS n FROM trial WHERE status = 'ok' -- a comment;"
is $'n\n3' "WITH t AS (SELECT id FROM trial) SELECT count(*) AS n FROM t; ; "
is $'most\n9' 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9) SELECT max(i) AS most FROM c'
is '{"columns":["a","b","a","d","e"],"rows":[[1,null,1.5,"x\ny","x'"'0aff'"'"]]}' --json \
  "SELECT 1 AS a, NULL AS b, 1.5 AS a, 'x' || char(10) || 'y' AS d, x'0aff' AS e"
is $'a,b\r\n"x,""y""",\r' --csv "SELECT 'x,\"y\"' AS a, NULL AS b"
[[ $(sql "SELECT count(DISTINCT name) FROM reading WHERE status != 'absent'" | tail -n 1) -gt 5 ]] || fail "no readings"
sql 'SELECT * FROM sample UNION ALL SELECT 1, 2, 3, 4, 5, 6, 7' >/dev/null || fail "the view sample"
sql 'SELECT * FROM profile' >/dev/null || fail "the view profile"
"$stabctl" sql --database run/stabd.db 'SELECT 1' >/dev/null || fail "a file"

# Everything that is there, but for what SQLite needs beside a database that is read.
state_of() { find . ! -name '*-shm' ! -name '*-wal' ! -path ./said -type f -exec sha256sum {} + | sort; }
before=$(state_of)
refused=0
while IFS= read -r statement; do
  if sql "$statement" >said 2>&1; then fail "it is taken: $statement: $(cat said)"; fi
  [[ $(state_of) == "$before" ]] || fail "it changes something: $statement"
  refused=$((refused + 1))
done <<'STATEMENTS'
INSERT INTO meta (key, value) VALUES ('a', 'b')
INSERT INTO meta (key, value) VALUES ('a', 'b') RETURNING id
UPDATE experiment SET name = 'other'
DELETE FROM trial
WITH t AS (SELECT 1) DELETE FROM trial
REPLACE INTO meta (id, key, value) VALUES (1, 'a', 'b')
DROP TABLE trial
DROP VIEW reading
CREATE TABLE other (a)
CREATE TEMP TABLE other (a)
CREATE TEMP VIEW other AS SELECT 1
CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END
CREATE VIRTUAL TABLE other USING fts5(a)
ALTER TABLE trial RENAME TO other
ATTACH 'other.db' AS other
DETACH main
VACUUM
VACUUM INTO 'other.db'
REINDEX
ANALYZE
BEGIN IMMEDIATE
COMMIT
ROLLBACK
SAVEPOINT s
PRAGMA user_version = 3
PRAGMA query_only = OFF
PRAGMA writable_schema = ON
PRAGMA journal_mode = DELETE
PRAGMA wal_checkpoint(TRUNCATE)
PRAGMA temp_store_directory = '/tmp'
SELECT * FROM pragma_table_info('trial')
SELECT load_extension('/tmp/other.so')
SELECT writefile('other', 'text')
SELECT 1; DELETE FROM trial
SELECT 1; SELECT 2
EXPLAIN DELETE FROM trial
; ;
-- nothing
SELECT no_such_column FROM trial
STATEMENTS
[[ $refused -gt 30 ]] || fail "only $refused statements were tried"
if sql '' >said 2>&1; then fail "an empty statement is taken"; fi
{ sql 'DELETE FROM trial' 2>&1 || true; } | grep -q "only reading is allowed" || fail "it does not say what is allowed"

# Without end, or too large.
if timeout 60 "$stabctl" sql --state run --time-limit 1 \
  'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c' >said 2>&1; then fail "it has an end"; fi
# The other words are those of an alarm, where the process was stopped for a second.
grep -q "the query took longer than 1 s\|the query takes longer than its time" said || fail "$(cat said)"
# One step of it may last for ever.
if timeout 60 "$stabctl" sql --state run --time-limit 1 \
  "SELECT instr(hex(zeroblob(8000000)), hex(zeroblob(4000000)) || '1')" >said 2>&1; then fail "it has an end"; fi
grep -q "the query takes longer than its time" said || fail "$(cat said)"
most="WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)"
if sql "$most SELECT hex(zeroblob(1000000)) FROM c" >said 2>&1; then fail "200 MB are taken"; fi
grep -q "the rows of the result take more than 64 MiB" said || fail "$(head -c 300 said)"
if sql "$most SELECT hex(zeroblob(4000000)) || i AS a FROM c ORDER BY a" >said 2>&1; then fail "it sorts 800 MB"; fi
grep -q "more than 256 MiB of memory\|more than 64 MiB\|the query took longer" said || fail "$(head -c 300 said)"
if sql "SELECT zeroblob(100000000)" >said 2>&1; then fail "one value of 100 MB is taken"; fi

# What is no database of ours, and who names none.
if "$stabctl" sql --database plan.toml 'SELECT 1' 2>said; then fail "a plan is no database"; fi
if "$stabctl" sql --state nowhere 'SELECT 1' 2>said; then fail "there is nothing"; fi
grep -q nowhere/stabd.db said || fail "$(cat said)"
if "$stabctl" sql --state run --database run/stabd.db 'SELECT 1' 2>said; then fail "two databases"; fi
if [[ $EUID == 0 ]]; then
  chmod 700 run
  chmod 711 "$work"
  if setpriv --reuid 65534 --clear-groups "$stabctl" sql --state run 'SELECT 1' 2>said; then fail "it is read for others"; fi
fi
[[ $(state_of) == "$before" ]] || fail "something has changed"
