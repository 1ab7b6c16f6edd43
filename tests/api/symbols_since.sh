#!/bin/sh
# The list of symbols beside the list of the newest tag v* before it. While the SONAME is the same, no released symbol may
# go, and a new one needs a version of its own: a program that uses it must not start with the library of the release.
# usage: symbols_since.sh SYMBOLS     debian/libtally0.symbols, in a clone; without a clone or a tag there is nothing to do
set -u
directory=$(dirname "$1")
[ -e "$directory/../.git" ] || { echo "no clone: no release to compare with"; exit 0; }
cd "$directory/.." || exit 2
tags=$(git -c "safe.directory=$PWD" tag --list 'v*' --sort=-version:refname --merged HEAD) || exit 2
[ -n "$tags" ] || { echo "no tag v*: no release to compare with"; exit 0; }
tag=$(echo "$tags" | head -n 1)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
# A release with another SONAME has a list of another name; its programs do not load this library.
list=debian/$(basename "$1")
git -c "safe.directory=$PWD" cat-file -e "$tag:$list" 2>/dev/null || { echo "$tag has no $list: another SONAME"; exit 0; }
git -c "safe.directory=$PWD" show "$tag:$list" >"$work/list" || exit 2

# usage: symbols_of LIST
symbols_of() { sed -n 's/^ \(tally_[^ ]*\) .*/\1/p' "$1" | sort; }
symbols_of "$work/list" >"$work/released"
symbols_of "$list" >"$work/now"
[ -s "$work/released" ] || { echo "$tag: no symbols in $list"; exit 2; }
comm -23 "$work/released" "$work/now" >"$work/gone"
sed 's/.*@//' "$work/released" | sort -u >"$work/versions"
comm -13 "$work/released" "$work/now" | while read -r symbol; do
    ! grep -qx "${symbol#*@}" "$work/versions" || echo "$symbol"
done >"$work/late"
[ ! -s "$work/gone" ] || { echo "gone since $tag, or under another version; raise the SONAME, or bring them back:"; cat "$work/gone"; }
[ ! -s "$work/late" ] || { echo "new since $tag, but under a version that it has; give them a new one in src/tally.map:"; cat "$work/late"; }
[ ! -s "$work/gone" ] && [ ! -s "$work/late" ] || exit 1
echo "$(wc -l <"$work/released") functions of $tag, and $(comm -13 "$work/released" "$work/now" | wc -l) new ones"
