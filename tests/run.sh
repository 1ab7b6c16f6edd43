#!/bin/sh
# Runs the tests of a build folder and names the ten that took longest. The log of all tests is BUILD/NAME.log.
# usage: tests/run.sh BUILD NAME CTEST_ARGUMENT...
set -u
cd "$1" || exit 2
log=$PWD/$2.log
shift 2
# CTest's own log comes at its end. This one has the failures of a run that is stopped.
rm -f "$log.failed"
{
    ctest --no-tests=error --output-on-failure --no-label-summary -j "$(nproc 2>/dev/null || echo 2)" "$@" ||
        echo $? >"$log.failed"
} | tee "$log"
echo
echo 'The ten that took longest:'
sed -n 's/.*Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*/\2 s  \1/p' "$log" | sort -rn | head -n 10
[ ! -f "$log.failed" ] || exit "$(cat "$log.failed")"
