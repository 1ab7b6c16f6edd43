#!/bin/sh
# What tally ladder writes, byte by byte, under a fixed clock and with the machine's name replaced:
#     golden.sh TALLY EXPECTED            compares with the files in EXPECTED
#     golden.sh TALLY EXPECTED --write    makes them anew: look at the difference before you take it over
set -eu
tally=$1
expected=$2
write=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TALLY_LADDER_CLOCK=fixed
export TALLY_LADDER_CLOCK
unset TALLY_THREADS TALLY_CPU

"$tally" ladder cpu --n 5000 --dtype i32 --repeat 3 --device cpu:baseline:threads=2 --json "$folder/cpu.json" \
    --csv "$folder/cpu.csv" --svg "$folder/cpu.svg" >"$folder/cpu.txt"
"$tally" ladder cpu --show simd-wide >"$folder/show.txt"

sed -i -e 's/^[^:]* (baseline, 2 threads)/DEVICE (baseline, 2 threads)/' \
    -e 's/"small">[^<]*; \([0-9]* values of\)/"small">DEVICE; \1/' \
    -e 's/"device_name": "[^"]*"/"device_name": "DEVICE"/' -e 's/"tally_version": "[^"]*"/"tally_version": "VERSION"/' \
    "$folder"/*

status=0
for made in "$folder"/*; do
    name=$(basename "$made")
    if [ "$write" = --write ]; then
        cp "$made" "$expected/$name"
    elif ! cmp -s "$made" "$expected/$name"; then
        echo "$name differs:"
        diff "$expected/$name" "$made" | head -n 20
        status=1
    fi
done
exit $status
