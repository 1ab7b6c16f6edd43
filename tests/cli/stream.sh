#!/bin/sh
# A file larger than the command's memory limit: stream.sh TALLY. The files have holes, so they take no space.
set -u
tally=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder" || exit 1
TMPDIR=$folder
TALLY_THREADS=2
export TMPDIR TALLY_THREADS

# 1.5 GiB of zeros, with a few numbers among them; 1 GiB of address space, of which the threads take a part.
limit_kib=1048576
bytes=1610612736
truncate -s $bytes large.raw || exit 77
printf '\000\000\200\077' | dd of=large.raw bs=1 seek=$((bytes - 4)) conv=notrunc 2>/dev/null
printf '\000\000\000\100' | dd of=large.raw bs=1 seek=$((bytes / 2)) conv=notrunc 2>/dev/null

failures=0
expect() {
    wanted=$1
    shift
    got=$( (ulimit -v $limit_kib && exec "$@") 2>&1)
    if [ "$got" != "$wanted" ]; then
        printf 'FAILED: %s\n  got %s, not %s\n' "$*" "$got" "$wanted"
        failures=$((failures + 1))
    fi
}
raw="large.raw --raw --dtype f32"
expect 3 "$tally" reduce sum $raw
expect 3 "$tally" reduce sum --exact $raw
expect 2 "$tally" reduce max $raw
expect 201326592 "$tally" reduce argmax $raw
expect "2
1" "$tally" reduce max $raw --shape 201326592,2 --axis 0
expect "0
2" "$tally" reduce max $raw --shape 2,201326592 --axis 1
expect 3 sh -c "cat large.raw | $tally reduce sum --raw --dtype f32"
expect 5 "$tally" reduce dot large.raw large.raw --raw --dtype f32
printf '0\n201326592\n201326593\n402653184\n' >offsets.txt
expect "0
2
1" "$tally" segments sum large.raw offsets.txt --raw --dtype f32
# A scan's output is as large as its input: there is room for it on few machines' /tmp, so it goes to a pipe.
expect 3 sh -c "$tally scan sum --raw --dtype f32 large.raw -o - | tail -c 4 | $tally reduce sum --raw --dtype f32"
echo "$failures failed"
[ "$failures" -eq 0 ]
