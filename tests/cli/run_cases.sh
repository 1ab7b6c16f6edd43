#!/bin/sh
# Runs a file of golden cases: run_cases.sh TALLY CASES.
#
# A case is a command and its expected results:
#     $ tally reduce sum x.txt      the command, for sh, in a folder of its own that all cases of the file share
#     > 6                           a line of standard output; all of them must be there, in order
#     ! tally: ...                  a line of standard error, likewise
#     ? 1                           the exit status, 0 without such a line
# Lines that begin with # are comments. Commands without expectations must succeed silently.
set -u
tally_path=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cases=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$folder/work" "$folder/bin"
ln -s "$tally_path" "$folder/bin/tally"
PATH=$folder/bin:$PATH
LC_ALL=C
export PATH LC_ALL
cd "$folder/work" || exit 1

command=
count=0
failures=0

start_case() {
    command=$1
    status=0
    : >"$folder/out.expected"
    : >"$folder/err.expected"
}

finish_case() {
    [ -n "$command" ] || return 0
    count=$((count + 1))
    sh -c "$command" </dev/null >"$folder/out" 2>"$folder/err"
    got=$?
    verdict=
    [ "$got" -eq "$status" ] || verdict="exit status $got, not $status; "
    cmp -s "$folder/out.expected" "$folder/out" || verdict="${verdict}standard output differs; "
    cmp -s "$folder/err.expected" "$folder/err" || verdict="${verdict}standard error differs; "
    if [ -n "$verdict" ]; then
        failures=$((failures + 1))
        printf 'FAILED: $ %s\n  %s\n' "$command" "$verdict"
        diff "$folder/out.expected" "$folder/out" | head -n 20 | sed 's/^/  out /'
        diff "$folder/err.expected" "$folder/err" | head -n 20 | sed 's/^/  err /'
    fi
    command=
}

while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '$ '*) finish_case; start_case "${line#??}" ;;
    '> '*) printf '%s\n' "${line#??}" >>"$folder/out.expected" ;;
    '>') echo >>"$folder/out.expected" ;;
    '! '*) printf '%s\n' "${line#??}" >>"$folder/err.expected" ;;
    '? '*) status=${line#??} ;;
    '#'* | '') ;;
    *) echo "$cases: a line that is no part of a case: $line"; exit 1 ;;
    esac
done <"$cases"
finish_case
echo "$count cases, $failures failed"
[ "$failures" -eq 0 ] && [ "$count" -gt 0 ]
