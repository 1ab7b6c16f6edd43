#!/bin/sh
# The shared library exports the functions of the public headers, all of them and nothing else; and each under the version
# that the committed list of symbols has for it. A call that is gone from both the headers and the library fails here.
# In a clone, the list is then compared with that of the newest release (symbols_since.sh).
# usage: exported_symbols.sh LIBRARY INCLUDE_DIRECTORY SYMBOLS
set -u
command -v nm >/dev/null 2>&1 || { echo "skipped: no nm"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$1" | awk '$2 ~ /[TDBRVW]/ { sub(/@.*/, "", $3); print $3 }' | grep -v '^TALLY_' | sort -u >"$work/exported"
cat "$2"/tally/*.h | grep '^TALLY_API' | grep -o 'tally_[a-z0-9_]*(' | tr -d '(' | sort -u >"$work/declared"
[ -s "$work/declared" ] || { echo "no declarations found"; exit 1; }
diff "$work/declared" "$work/exported" >"$work/difference" || {
    echo "declared (<) and exported (>) differ:"
    cat "$work/difference"
    exit 1
}
name=$(sed -n '1s/ .*//p' "$3")
[ "$(readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = "$name" ] || { echo "the library is not $name, as $3 says"; exit 1; }
nm -D --defined-only --with-symbol-versions "$1" |
    awk '$2 ~ /[TDBRVW]/ && $3 !~ /^TALLY_/ { sub(/@@/, "@", $3); print $3 }' | sort -u >"$work/versioned"
sed -n 's/^ \(tally_[^ ]*\) .*/\1/p' "$3" | sort -u >"$work/listed"
comm -23 "$work/listed" "$work/versioned" >"$work/gone"
comm -13 "$work/listed" "$work/versioned" >"$work/new"
[ ! -s "$work/gone" ] || { echo "gone, or under another version; programs that were linked with them do not start:"; cat "$work/gone"; }
[ ! -s "$work/new" ] || { echo "new; add them to $3, with the release that first has them:"; cat "$work/new"; }
[ ! -s "$work/gone" ] && [ ! -s "$work/new" ] || exit 1
echo "$(wc -l <"$work/exported") functions"
"$(dirname "$0")/symbols_since.sh" "$3"
