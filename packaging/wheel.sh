#!/bin/sh
# Builds the wheel of a source tarball, looks at it with the tools of those who publish wheels, and runs the package's tests
# from it in a fresh environment.
# usage: packaging/wheel.sh TARBALL DIRECTORY TOOLS
#   DIRECTORY: for the wheel; made anew. TOOLS: an environment with packaging/requirements.txt
set -eu
tarball=$1 directory=$2 tools=$3
rm -rf "$directory"
mkdir -p "$directory/built"
tar -xf "$tarball" -C "$directory"
tree=$directory/$(basename "$tarball" .tar.gz)
CMAKE_C_COMPILER_LAUNCHER=${TALLY_LAUNCHER:-} "$tools/bin/pip" wheel -q --no-deps -w "$directory/built" "$tree/python" >"$directory/build.log" 2>&1 || {
    tail -40 "$directory/build.log" >&2
    exit 1
}
# Clean for manylinux: it links nothing but what every Linux has. Which version depends on the machine that builds it.
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair -w "$directory" "$directory"/built/*.whl >"$directory/repair.log" 2>&1 || {
    cat "$directory/repair.log" >&2
    exit 1
}
wheel=$(echo "$directory"/*manylinux*.whl)
"$tools/bin/abi3audit" --strict "$wheel" >"$directory/abi3.log" 2>&1 || {
    cat "$directory/abi3.log" >&2
    exit 1
}
# What auditwheel would have brought along, and libraries of GPUs, would make it a wheel for some machines.
unzip_list=$("$tools/bin/python" -m zipfile -l "$wheel")
for file in tally/_tally.abi3.so tally/libtally_of_package.so tally/tally tally/py.typed licenses/LICENSE; do
    case $unzip_list in *"$file"*) ;; *) echo "$wheel lacks $file" >&2 && exit 1 ;; esac
done
case $unzip_list in *tally.libs/*) echo "$wheel brings libraries along: $unzip_list" >&2 && exit 1 ;; esac
bytes=$(wc -c <"$wheel")
[ "$bytes" -lt 6000000 ] || { echo "$wheel has $bytes bytes, and 6,000,000 are the limit" >&2; exit 1; }

python3 -m venv "$directory/fresh"
"$directory/fresh/bin/pip" install -q "$wheel" numpy pytest mypy
cd "$directory/fresh"
bin/python -m pytest -q -p no:cacheprovider "$tree/python/tests" --ignore="$tree/python/tests/engines"
# The stubs beside the extension itself. The modules for engines need those engines.
printf '[mypy]\nignore_missing_imports = True\n' >mypy.ini
printf 'tally.%s\n' arrow dask dask_frames spark libtally_of_package >allowed
bin/python -m mypy.stubtest --mypy-config-file mypy.ini --allowlist allowed --ignore-unused-allowlist tally
echo "wheel: $(basename "$wheel"), $bytes bytes"

# Free-threaded versions of Python have no stable ABI, and need a wheel of their own.
free=$(command -v python3.14t || command -v python3.13t || :)
[ -n "$free" ] || { echo "wheel: no free-threaded Python is here (python3.14t or 3.13t): its tests are left out" && exit 0; }
"$free" -m venv "$directory/free"
CMAKE_C_COMPILER_LAUNCHER=${TALLY_LAUNCHER:-} "$directory/free/bin/pip" wheel -q --no-deps -w "$directory/free" "$tree/python" >"$directory/free.log" 2>&1 || {
    tail -40 "$directory/free.log" >&2
    exit 1
}
"$directory/free/bin/pip" install -q "$directory"/free/tally-*.whl numpy pytest
"$directory/free/bin/python" -m pytest -q -p no:cacheprovider "$tree/python/tests" --ignore="$tree/python/tests/engines"
echo "wheel: $(basename "$directory"/free/tally-*.whl)"
