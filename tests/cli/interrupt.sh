#!/bin/sh
# A command that is stopped while it writes leaves no new file and keeps the old one: interrupt.sh TALLY.
set -u
tally=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder" || exit 1
failures=0
mkdir out
mkfifo values

for signal in INT TERM HUP KILL PIPE; do
    for before in nothing something; do
        rm -f out/result.npy
        [ $before = nothing ] || echo kept >out/result.npy
        "$tally" scan sum --raw --dtype u8 values -o out/result.npy 2>err &
        command=$!
        # More than a buffer, so that output has been written; then it waits for more.
        { head -c 9000000 /dev/zero; sleep 2; } >values 2>/dev/null &
        writer=$!
        sleep 0.5
        # An asynchronous command of a shell may ignore INT from its start, and one under nohup HUP: then it must go on.
        kill -$signal $command
        sleep 0.2
        case $signal in
        INT | HUP) ! kill -0 $command 2>/dev/null || kill -TERM $command ;;
        esac
        wait $command 2>/dev/null
        status=$?
        kill $writer 2>/dev/null
        wait $writer 2>/dev/null
        left=$(ls -A out)
        wanted=
        [ $before = nothing ] || wanted=result.npy
        if [ $status -lt 128 ] || [ "$left" != "$wanted" ] || { [ -n "$wanted" ] && [ "$(cat out/result.npy)" != kept ]; }; then
            echo "FAILED: $signal with $before there: exit status $status, left: $left"
            failures=$((failures + 1))
        fi
    done
done

# A limit on the size of files is an error with a message.
head -c 4000000 /dev/zero >zeros.raw
message=$( (ulimit -f 1000 && "$tally" scan sum --dtype u8 zeros.raw -o out/large.npy) 2>&1)
if [ $? -ne 1 ] || [ "$message" != "tally: out/large.npy: cannot write: File too large" ] || [ -e out/large.npy ]; then
    echo "FAILED: limit on file sizes: $message"
    failures=$((failures + 1))
fi
echo "$failures failed"
[ "$failures" -eq 0 ]
