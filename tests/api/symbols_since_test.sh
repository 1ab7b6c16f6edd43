#!/bin/sh
# symbols_since.sh finds what a release had and what is added to it too late: in a clone that is made up, with made-up tags.
# usage: symbols_since_test.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v git >/dev/null 2>&1 || { echo "skipped: no git"; exit 77; }
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
cd "$clone"

# usage: list SYMBOL@VERSION...     writes the list of symbols
list() {
    echo 'libtally.so.0 libtally0 #MINVER#' >debian/libtally0.symbols
    printf ' %s 0.1.0\n' '(optional)TALLY_0.1@TALLY_0.1' "$@" >>debian/libtally0.symbols
}
# usage: release TAG SYMBOL@VERSION...
release() {
    tag=$1 && shift
    list "$@"
    git add debian && git commit -qm "$tag" --allow-empty && git tag "$tag"
}
# usage: expect STATUS TEXT     of the list as it is now
expect() {
    status=0
    said=$("$here/symbols_since.sh" debian/libtally0.symbols 2>&1) || status=$?
    case "$status $said" in
    "$1 "*"$2"*) ;;
    *) echo "expected status $1 and '$2'; there was $status and: $said" >&2 && exit 1 ;;
    esac
}

mkdir debian
list tally_run@TALLY_0.1
expect 0 'no clone'
git init -q . && git config user.name test && git config user.email test@example.org
git add debian && git commit -qm 'no release yet'
expect 0 'no tag'
release v0.9.0 tally_open@TALLY_0.1
release v0.10.0 tally_open@TALLY_0.1 tally_run@TALLY_0.1
expect 0 '2 functions of v0.10.0, and 0 new ones'
list tally_open@TALLY_0.1
expect 1 'gone since v0.10.0, or under another version; raise the SONAME, or bring them back:
tally_run@TALLY_0.1'
list tally_open@TALLY_0.1 tally_run@TALLY_0.2
expect 1 'tally_run@TALLY_0.1'
list tally_open@TALLY_0.1 tally_run@TALLY_0.1 tally_scan@TALLY_0.1
expect 1 'give them a new one in src/tally.map:
tally_scan@TALLY_0.1'
list tally_open@TALLY_0.1 tally_run@TALLY_0.1 tally_scan@TALLY_0.11
expect 0 'and 1 new ones'
# Another SONAME: programs of the release load the library of the release.
git mv debian/libtally0.symbols debian/libtally1.symbols
echo 'libtally.so.1 libtally1 #MINVER#' >debian/libtally1.symbols
"$here/symbols_since.sh" debian/libtally1.symbols | grep -q 'another SONAME'
# A tag of another branch is no release before this one.
git mv debian/libtally1.symbols debian/libtally0.symbols
git checkout -q -f HEAD && git checkout -q -b other && release v0.20.0 tally_other@TALLY_0.20
git checkout -q -
expect 0 'of v0.10.0'
