#!/bin/sh
# What tally ladder writes, byte by byte, under a fixed clock and with the machine's name replaced:
#     golden.sh TALLY EXPECTED cpu|cuda           compares with the files in EXPECTED; cuda is for the emulated device
#     golden.sh TALLY EXPECTED cpu|cuda --write   makes them anew: look at the difference before you take it over
set -eu
tally=$1
expected=$2
device=$3
write=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TALLY_LADDER_CLOCK=fixed
export TALLY_LADDER_CLOCK
unset TALLY_THREADS TALLY_CPU

# usage: outputs FAMILY OPTION...
outputs() {
    family=$1
    shift
    "$tally" ladder "$family" --dtype i32 --repeat 3 --json "$folder/$family.json" --csv "$folder/$family.csv" \
        --svg "$folder/$family.svg" "$@" >"$folder/$family.txt"
}

case $device in
cpu)
    outputs cpu --n 5000 --device cpu:baseline:threads=2
    "$tally" ladder cpu --show simd-wide >"$folder/show.txt"
    ;;
cuda)
    outputs reduce --n 5000 --step interleaved,last-warp-volatile,shuffle
    outputs coarsening --n 2^18 --step segmented,coarsened
    ;;
esac

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
