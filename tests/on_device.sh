#!/bin/sh
# A test is skipped where what it needs is missing, and fails where TALLY_REQUIRE says that it must be there.
# usage: on_device.sh ON_DEVICE COMPARE_NUMPY [PYTHON]
set -u
on_device=$1 compare_numpy=$2 python=${3:-}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
TALLY_LIBVULKAN=/nonexistent
export TALLY_LIBVULKAN

failures=0
# usage: exits STATUS REQUIRED COMMAND...
exits() {
    status=$1 required=$2 got=0
    shift 2
    TALLY_REQUIRE=$required "$@" >"$folder/said" 2>&1 || got=$?
    [ $got -eq "$status" ] && return
    echo "FAILED: TALLY_REQUIRE=$required $*: exit status $got, not $status: $(cat "$folder/said")"
    failures=$((failures + 1))
}

exits 77 '' "$on_device" vulkan:0 true
exits 77 vulkanic,vulk,numpy "$on_device" vulkan:0 true
exits 1 vulkan "$on_device" vulkan:0 true
exits 1 numpy,vulkan "$on_device" vulkan:0 true
exits 0 vulkan "$on_device" cpu true
exits 3 vulkan "$on_device" cpu sh -c 'exit 3'
exits 77 vulkan "$on_device" cpu sh -c 'exit 77'
exits 1 cpu "$on_device" cpu sh -c 'exit 77'
# shellcheck disable=SC2016 # the shell that is started expands it
exits 2 '' "$on_device" cpu sh -c 'kill -9 $$'
exits 2 '' "$on_device" cpu "$folder/nothing"

if [ -n "$python" ]; then
    echo 'raise ImportError' >"$folder/numpy.py"
    exits 77 vulkan env PYTHONPATH="$folder" "$python" "$compare_numpy" tally
    exits 1 vulkan,numpy env PYTHONPATH="$folder" "$python" "$compare_numpy" tally
fi
echo "$failures failures"
[ $failures -eq 0 ]
