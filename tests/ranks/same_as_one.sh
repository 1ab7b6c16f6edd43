#!/bin/sh
# tally-mpi on several ranks gives the bytes that tally gives: for whole numbers, exact sums, and all that does not round;
# printed, as JSON and as files. Errors are printed once, with the same exit status.
# usage: same_as_one.sh TALLY TALLY_MPI openmpi|mpich RANKS...
set -u
tally=$1 tally_mpi=$2 kind=$3
shift 3
here=$(dirname "$0")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder" || exit 1
case $here in /*) ;; *) here=$OLDPWD/$here ;; esac
case $tally in /*) ;; *) tally=$OLDPWD/$tally ;; esac
case $tally_mpi in /*) ;; *) tally_mpi=$OLDPWD/$tally_mpi ;; esac

# Products of odd numbers wrap, as those of npy files may: their upper bits are as good as random. Running sums of floats
# of many exponents round.
n=20010
seq 1 2 $((2 * n)) | "$tally" scan max --dtype i64 -o ascending.npy || exit 1
"$tally" scan prod ascending.npy -o odd.npy || exit 1
tail -c $((8 * n)) odd.npy >odd.raw
awk -v n=$n 'BEGIN { srand(7); for (i = 0; i < n; i++) printf "%.17g\n", (rand() - 0.5) * 2 ^ int(rand() * 60) }' |
    "$tally" scan sum --dtype f64 -o floats.npy || exit 1
awk -v n=$n 'BEGIN { srand(3); at = 0; for (i = 0; at < n; i++) { print at; at += int(rand() * 40) * (rand() < 0.9) } print n; print n }' |
    "$tally" scan max --dtype i64 -o offsets.npy
printf '3\n3\n%d\n%d\n' $((n - 5)) $((n - 2)) | "$tally" scan max --dtype i32 -o few.npy
awk -v n=$n 'BEGIN { srand(5); k = 0; for (i = 0; i < n; i++) { if (rand() < 0.05) k++; print k } }' | "$tally" scan max --dtype i32 -o keys.npy
head -c $n odd.raw >labels.raw # any bytes
"$tally" reduce max labels.raw --dtype u8 --shape $n,1 --axis 1 -o labels.npy || exit 1
head -c 144 odd.raw >shaped.raw
seq 1 9 >numbers.txt

failures=0 count=0
fail() {
    echo "FAILED on $ranks ranks: $*"
    failures=$((failures + 1))
}
on_ranks() { sh "$here/mpirun.sh" "$kind" "$ranks" "$tally_mpi" "$@"; }

# What is printed, and with -o the file.
same() {
    count=$((count + 1))
    "$tally" "$@" >one.txt 2>one.err
    one=$?
    on_ranks "$@" >all.txt 2>all.err
    all=$?
    [ $one = 0 ] && [ $all = 0 ] && cmp -s one.txt all.txt || fail "$*: exit $one and $all: $(head -c 300 all.err)"
}
same_file() {
    count=$((count + 1))
    rm -f one.npy all.npy
    "$tally" "$@" -o one.npy 2>one.err && on_ranks "$@" -o all.npy 2>all.err && cmp -s one.npy all.npy ||
        fail "$* -o: $(head -c 300 all.err)"
}
# The same exit status, not 0, and one line about it.
refused() {
    count=$((count + 1))
    "$tally" "$@" >one.txt 2>one.err
    one=$?
    on_ranks "$@" >all.txt 2>all.err
    all=$?
    lines=$(grep -c '^tally' all.err)
    [ $one != 0 ] && [ $all = $one ] && [ "$lines" = 1 ] || fail "$*: exit $one and $all, $lines lines: $(head -c 300 all.err)"
}

# What tally does alone. The message has options, no names of C.
only_one() {
    count=$((count + 1))
    "$tally" "$@" >one.txt 2>&1 || fail "$*: $(head -c 300 one.txt)"
    on_ranks "$@" >all.txt 2>all.err && fail "$* is taken"
    [ "$(grep -c '^tally' all.err)" = 1 ] && ! grep -q 'TALLY_' all.err || fail "$*: $(head -c 300 all.err)"
}

for ranks; do
    same reduce sum odd.npy
    same reduce sum --exact floats.npy --json
    same reduce argmin floats.npy
    same reduce minmax floats.npy
    same reduce dot --exact floats.npy floats.npy
    same reduce sum odd.raw --dtype i64 --shape 3,5,1334 --axis 1
    same scan max shaped.raw --dtype i16 --shape 2,4,9 --axis 1
    same_file scan sum shaped.raw --dtype i16 --shape 2,4,9 --axis 1 --reverse
    same_file scan sum shaped.raw --dtype u8 --shape 12,4,3 --axis 1
    same_file reduce minmax shaped.raw --dtype i16 --shape 72,1 --axis 0
    same_file scan sum odd.npy
    same_file scan sum --exact floats.npy --exclusive --initial 0.5
    same_file scan sum --exact floats.npy --reverse
    same segments sum --exact floats.npy offsets.npy
    same_file segments sum odd.npy offsets.npy
    same_file segments norm2 --exact floats.npy few.npy
    same keys sum odd.npy keys.npy
    same keys sum --exact floats.npy keys.npy --json
    same_file keys max floats.npy keys.npy --keys-out /dev/null
    same labels sum odd.npy labels.npy
    same labels sum --exact floats.npy labels.npy --json
    same labels sum odd.npy labels.npy --groups 100 --skip-bad
    same_file labels sum --exact floats.npy labels.npy --groups 3000
    same_file labels max floats.npy labels.npy
    same_file labels minmax odd.npy labels.npy
    refused labels sum odd.npy labels.npy --groups 100
    refused labels sum odd.npy few.npy
    refused labels sum odd.npy floats.npy
    refused labels max odd.npy labels.npy --groups 3000
    only_one labels argmin odd.npy labels.npy
    only_one scan argmin --reverse odd.npy
    only_one scan sum --skip-nan floats.npy
    grep -q 'scan of sum over ranks with --skip-nan' all.err || fail "the option's name: $(head -c 300 all.err)"
    only_one reduce sum numbers.txt
    refused reduce sum missing.npy
    refused reduce sum odd.npy --no-such-option
    refused segments min floats.npy offsets.npy
    refused keys sum odd.npy few.npy
    refused scan sum odd.npy -o missing/sums.npy
    refused scan argmin --exclusive odd.npy
done
# What every rank would say is said once.
(cat odd.npy; echo more) >longer.npy
on_ranks reduce sum longer.npy >all.txt 2>all.err || fail "a file with bytes after its array is refused"
[ "$(grep -c '^tally.*warning' all.err)" = 1 ] || fail "warnings: $(head -c 300 all.err)"
[ "$(on_ranks --version)" = "$("$tally" --version | sed 's/tally/tally-mpi/')" ] || fail "--version"
# A file that is not the same for all ranks: each has a folder of its own, and the last one's file is shorter.
ranks=2
printf '#!/bin/sh\ncd "$1.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" || exit\nshift\nexec "$@"\n' >apart.sh
mkdir apart.0 apart.1
cp odd.npy apart.0
seq 1 100 | "$tally" scan max --dtype i64 -o apart.1/odd.npy
sh "$here/mpirun.sh" "$kind" 2 sh apart.sh apart "$tally_mpi" reduce sum odd.npy >all.txt 2>all.err &&
    fail "files of different lengths are taken"
grep -q 'different lengths' all.err || fail "files of different lengths: $(head -c 300 all.err)"
echo "$count computations"
exit $((failures != 0))
