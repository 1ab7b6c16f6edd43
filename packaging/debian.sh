#!/bin/sh
# Builds Debian's packages from a source tarball, checks them with lintian, installs them in a clean chroot, and runs their
# tests (debian/tests) there. It needs root for the chroot.
# usage: packaging/debian.sh TARBALL DIRECTORY     DIRECTORY: for the packages and the chroot; made anew
#   DEBIAN_MIRROR: where debootstrap takes packages from, if not from its own choice
#   DEBFULLNAME, DEBEMAIL: the packages' maintainer, as for dch; without them a placeholder, which no archive takes
set -eu
tarball=$1 directory=$2
[ "$(id -u)" -eq 0 ] || { echo "packaging/debian.sh: debootstrap and chroot need root" >&2; exit 1; }
rm -rf "$directory"
mkdir -p "$directory"
name=$(basename "$tarball" .tar.gz)
cp "$tarball" "$directory/$(echo "$name" | tr - _).orig.tar.gz"
tar -xf "$tarball" -C "$directory"

# debian/ has nobody's name: it belongs to who uploads.
if [ -n "${DEBEMAIL:-}" ]; then
    sed -i "s|The tally authors <maintainers@tally.example>|${DEBFULLNAME:?is needed with DEBEMAIL} <$DEBEMAIL>|" \
        "$directory/$name/debian/control" "$directory/$name/debian/changelog"
fi

# The tests of the sources run elsewhere.
(cd "$directory/$name" && PATH=/usr/lib/ccache:$PATH DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc) >"$directory/build.log" 2>&1 || {
    tail -40 "$directory/build.log" >&2
    exit 1
}
# The tarball brings debian/; and a package outside Debian cannot close the bug that asked for it.
lintian --allow-root --fail-on error,warning --suppress-tags no-debian-changes,initial-upload-closes-no-bugs \
    "$directory"/*.changes

chroot=$directory/chroot
debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$chroot" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$directory/chroot.log"
cp /etc/resolv.conf "$chroot/etc/"
mkdir "$chroot/packages"
cp "$directory"/*.deb "$chroot/packages/"
rm "$chroot"/packages/*-dbgsym_*
tar -xf "$tarball" -C "$chroot"
depends=$(sed -n 's/^Depends: //p' "$directory/$name/debian/tests/control" | tr -d ',' | tr ' ' '\n' | grep -v tally | tr '\n' ' ')
# shellcheck disable=SC2086 # names of packages are words
chroot "$chroot" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/*.deb "$@"' \
    sh $depends >>"$directory/chroot.log" 2>&1 || {
    tail -20 "$directory/chroot.log" >&2
    exit 1
}
for test in $(sed -n 's/^Tests: //p' "$directory/$name/debian/tests/control"); do
    chroot "$chroot" sh -c "cd /$name && PATH=/usr/sbin:/usr/bin:/sbin:/bin debian/tests/$test"
done
du -k "$chroot"/packages/*.deb | sed "s|$chroot/packages/||;s|^\([0-9]*\)|\1 KB|"
