#!/bin/sh
# What the ladder makes of the profiler's table and of the disassembler's listing, with stand-ins for both: an ncu that
# runs the program and then prints a table with made-up figures for as many launches as the program says it had, among
# lines that are no table, and a cuobjdump that says what it was given.
set -eu
tally=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TALLY_LADDER_CLOCK=fixed
PATH=$folder:$PATH
export TALLY_LADDER_CLOCK PATH

cat >"$folder/ncu" <<'END'
#!/bin/sh
echo '==PROF== Connected to process 1'
while [ "$1" != all ]; do
    [ "$1" = --metrics ] && metrics=$2
    shift
done
shift
"$@" >&2
while [ $# -gt 1 ]; do shift; done
columns=$(seq 400) # on the device and the launch
printf '"ID","Kernel Name"'
for column in $columns; do printf ',"device__attribute_%s"' "$column"; done
for name in $(echo "$metrics" | tr , ' '); do
    [ "$name" = dram__bytes_read.sum ] || printf ',"%s"' "$name"
done
printf '\n"",""\n'
id=0
while read -r step; do
    printf '"%d","kernel%d(const int *, int *)"' "$id" $((id % 2))
    for column in $columns; do printf ',"%s"' "$column"; done
    value=0
    for name in $(echo "$metrics" | tr , ' '); do
        value=$((value + 1000))
        case $id:$name in
        *:dram__bytes_read.sum) ;;
        0:*branch*) printf ',"0"' ;; # a kernel without branches
        *) printf ',"%d,%03d.5"' $((value / 1000)) "$step" ;;
        esac
    done
    echo
    id=$((id + 1))
done <"$1"
echo '==PROF== Disconnected'
END
printf '#!/bin/sh\necho "$1 of $(head -c 4 "$2" | tail -c 3)"\n' >"$folder/cuobjdump"
chmod +x "$folder/ncu" "$folder/cuobjdump"

fail() {
    echo "$*"
    exit 1
}

"$tally" ladder reduce --n 1000 --repeat 1 --step atomic,shuffle --profile --json "$folder/out.json" >"$folder/out"
grep -q '^  shuffle *$' "$folder/out" || fail "no counters of shuffle"
# Step 9 of the family, from 0; the first counter is in ns and shown in us; memory read was not in the table.
sed -n '/^  shuffle *$/,$p' "$folder/out" >"$folder/shuffle"
grep -q 'time under the profiler, us  *1.0095$' "$folder/shuffle" || fail "$(cat "$folder/shuffle")"
grep -q 'instructions per warp  *2009.5$' "$folder/shuffle" || fail "$(cat "$folder/shuffle")"
grep -q -- '-> load throughput and occupancy' "$folder/shuffle" || fail "no remark"
grep -q 'branch efficiency, %  *4009.5$' "$folder/shuffle" || fail "$(cat "$folder/shuffle")"
[ "$(grep -c 'branch efficiency' "$folder/out")" -eq 1 ] || fail "an efficiency of branches that are not there"
grep -q 'memory read' "$folder/shuffle" && fail "a counter that was not measured is shown"
grep -q '"memory read, MB": null' "$folder/out.json" || fail "the files lack the counters"

# Three launches of one step: figures that are counts add up, others are their mean; and each kernel has a column.
"$tally" ladder prefix-sum --n 5000 --repeat 1 --step baseline --profile --json "$folder/out.json" >"$folder/out"
says() { grep -q "$1" "$folder/out" || fail "$(cat "$folder/out")"; }
says '^  baseline  *together  *kernel0  *kernel1$'
says 'launches  *3  *2  *1$'
says 'time under the profiler, us  *3.0015  *2.001  *1.0005$'
says 'instructions per warp  *2000.5  *2000.5  *2000.5$'
grep -q '{"kernel": "kernel1", "launches": 1, "counters": {"time under the profiler, us": 1.0005,' "$folder/out.json" ||
    fail "$(cat "$folder/out.json")"

# A mistake in a kernel of one's own: the family's line, the step, and the source's line.
mkdir "$folder/mine"
printf 'family mine\nbackend cuda\ndtypes f32\npart reduce "Sum"\nstep broken broken.cu grid\n' >"$folder/mine/family"
printf '/* broken */\nextern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {\n    *sum = y;\n}\n' \
    >"$folder/mine/broken.cu"
"$tally" ladder "$folder/mine/family" --step broken >/dev/null 2>"$folder/err" && fail "no error"
grep -q "family 'mine', line 5, step 'broken'" "$folder/err" || fail "$(cat "$folder/err")"
grep -q "mine/broken.cu:3:.*'y'\|mine/broken.cu:3:.*‘y’" "$folder/err" || fail "$(cat "$folder/err")"

# A step that is wrong is a failure, measured or checked, unless its line says that it is wrong on purpose.
printf '/* wrong */\nextern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {\n    *sum = x[0];\n}\n' \
    >"$folder/mine/broken.cu"
for options in '--n 1000 --repeat 1' '--check --n 100'; do
    # shellcheck disable=SC2086 # options are words
    if "$tally" ladder "$folder/mine/family" $options >"$folder/out" 2>"$folder/err"; then
        fail "no failure: $options"
    fi
    grep -q "^tally: \(step 'broken' is wrong: .* is right\|1 step is wrong\)" "$folder/err" || fail "$(cat "$folder/err")"
done
says '^  broken .*right for 1 size, not for [0-9]*: n = 0: '
sed -i 's/broken.cu grid/& wrong-on-purpose/' "$folder/mine/family"
for options in '--n 1000 --repeat 1' '--check --n 100'; do
    # shellcheck disable=SC2086 # options are words
    "$tally" ladder "$folder/mine/family" $options >"$folder/out" || fail "a failure on purpose: $options"
    says '^  broken .*wrong on purpose'
done

printf '#!/bin/sh\necho "==ERROR== no permission"\nexit 3\n' >"$folder/ncu"
"$tally" ladder reduce --n 1000 --repeat 1 --step atomic --profile >/dev/null 2>"$folder/err" && fail "no error"
grep -q 'ncu gave no counters: ==ERROR== no permission (exit status 3)' "$folder/err" || fail "$(cat "$folder/err")"

[ "$("$tally" ladder reduce --sass shuffle --arch sm_90)" = '-sass of ELF' ] || fail "no machine code"
