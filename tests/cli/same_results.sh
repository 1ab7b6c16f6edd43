#!/bin/sh
# Two commands, or one on two devices, give the same bytes for files of many pieces, for results that do not depend on where
# pieces end: whole numbers, and exact sums.
# usage: same_results.sh TALLY DEVICE OTHER_TALLY OTHER_DEVICE
set -u
one=$1 one_device=$2 other=$3 other_device=$4
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# 40 MB of products of odd numbers, which wrap, as those of npy files may: their upper bits are as good as random.
n=5000000
seq 1 2 $((2 * n)) | "$one" scan max --dtype i64 -o "$folder/odd.npy" || exit 1
"$one" scan prod "$folder/odd.npy" -o "$folder/products.npy" || exit 1
tail -c $((8 * n)) "$folder/products.npy" >"$folder/x.raw"
seq 1 $n | "$one" scan max --dtype f64 -o "$folder/ascending.npy" || exit 1
seq 0 977 $n >"$folder/offsets.txt"
printf '0\n3\n3\n%d\n' $n >"$folder/few.txt"
seq 1 $n | awk '{ print int($1 / 1000) % 7 }' >"$folder/keys.txt"

failures=0
count=0
same() {
    "$one" "$@" --device "$one_device" -o "$folder/one.npy" >"$folder/one.txt" 2>&1
    one_code=$?
    "$other" "$@" --device "$other_device" -o "$folder/other.npy" >"$folder/other.txt" 2>&1
    other_code=$?
    count=$((count + 1))
    if [ $one_code -ne 0 ] || [ $other_code -ne 0 ] || ! cmp -s "$folder/one.npy" "$folder/other.npy"; then
        echo "FAILED: $*: exit $one_code and $other_code; $(cat "$folder/one.txt" "$folder/other.txt")"
        failures=$((failures + 1))
    fi
    rm -f "$folder/one.npy" "$folder/other.npy"
}
x=$folder/x.raw
for type in u8 i16 i32 i64; do
    same reduce sum "$x" --raw --dtype $type
    same reduce argmin "$x" --raw --dtype $type
    same scan sum "$x" --raw --dtype $type
done
same reduce minmax "$x" --raw --dtype i16
same reduce bxor "$x" --raw --dtype u64
same reduce dot "$x" "$x" --raw --dtype i32
same reduce sum --exact "$folder/ascending.npy"
same reduce mean --exact "$folder/ascending.npy"
same reduce norm2 --exact "$folder/ascending.npy"
same reduce dot --exact "$folder/ascending.npy" "$folder/ascending.npy"
for shape in 10,500000,2 2,5000000 500000,20 5000000,2; do
    for axis in 0 1 -1; do
        same reduce sum "$x" --raw --dtype i32 --shape $shape --axis $axis
        same reduce max "$x" --raw --dtype i32 --shape $shape --axis $axis
        same scan sum "$x" --raw --dtype i32 --shape $shape --axis $axis
        same scan max --reverse "$x" --raw --dtype i32 --shape $shape --axis $axis
    done
done
same reduce sum --exact "$folder/ascending.npy" --axis 0
same scan sum --reverse "$x" --raw --dtype i32
same scan sum --exclusive --initial 5 "$x" --raw --dtype i64
same scan argmax --reverse "$x" --raw --dtype i16
same segments sum "$folder/products.npy" "$folder/offsets.txt"
same segments sum "$folder/products.npy" "$folder/few.txt"
same keys sum "$folder/products.npy" "$folder/keys.txt"
same keys max "$folder/products.npy" "$folder/keys.txt"
echo "$count commands, $failures failures"
[ $failures -eq 0 ]
