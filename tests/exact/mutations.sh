#!/bin/sh
# Shows that the exact sums' tests notice broken code: each mutation below changes one place of a copy of the sources,
# after which at least one test has to fail. Usage: mutations.sh SOURCE_ROOT WORK_DIRECTORY [C_COMPILER]
#
# Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
set -eu

root=$1
work=$2
cc=${3:-cc}
common="-std=gnu11 -O2 -g0 -w -ffp-contract=off -fno-math-errno -fno-trapping-math"
wide=""
if grep -qs avx512dq /proc/cpuinfo; then
    wide="-mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512"
fi

# Compiles the copy in $1 into the tests that need no more than the exact part; what does not read $changed is taken from
# the unchanged copy. A mutation that does not compile shows nothing, so that ends the script.
changed=""
compile() { # OBJECT SOURCE FLAG...
    object=$copy/$1.o source=$2
    if [ -n "$changed" ] && ! grep -qF "/src/$changed" "$work/unchanged/$1.d"; then
        object=$work/unchanged/$1.o
    else
        shift 2

        $cc $common -I"$copy/src" -I"$root/include" -I"$root/tests/exact" -MMD "$@" -c "$source" -o "$object"
    fi
    compiled="$compiled $object"
}
build() {
    copy=$1
    compiled="$work/oracle.o"
    for source in superaccumulator round; do
        compile $source "$copy/src/exact/$source.c"
    done
    for source in layout operator names nearest status; do # the tables of layouts, operators and types
        compile $source "$copy/src/core/$source.c"
    done
    compile baseline "$copy/src/cpu/kernels/exact.c" -DTALLY_LEVEL=baseline
    levels="-DTALLY_HAS_LEVEL_baseline=1"
    if [ -n "$wide" ]; then

        compile avx512 "$copy/src/cpu/kernels/exact.c" $wide -DTALLY_LEVEL=avx512
        levels="$levels -DTALLY_HAS_LEVEL_avx512=1"
    fi

    compile levels "$root/tests/exact/levels.c" $levels
    shared=$compiled
    for test in round properties kernels scan; do
        compiled=$shared

        compile test_$test "$root/tests/exact/test_$test.c" $levels
        $cc $compiled -o "$copy/test_$test" -lcmocka -lmpfr -lgmp -lm
    done
}

# One failure is enough.
passes() {
    for test in round properties kernels scan; do
        CMOCKA_TEST_ABORT=1 TALLY_GOLDEN="$root/tests/exact/golden.txt" timeout 300 "$1/test_$test" >"$1/log" 2>&1 ||
            return 1
    done
}

copy_sources() {
    rm -rf "$1"
    mkdir -p "$1/src/cpu"
    cp -R "$root/src/exact" "$root/src/core" "$1/src/"
    cp -R "$root/src/cpu/kernels" "$root/src/cpu/fpenv.h" "$1/src/cpu/"
}

survivors=0
# mutation NAME FILE SED_EXPRESSION
mutation() {
    copy_sources "$work/$1"
    sed "$3" "$root/src/$2" >"$work/$1/src/$2"
    if cmp -s "$root/src/$2" "$work/$1/src/$2"; then
        echo "$1: the place to change is gone from $2" >&2
        survivors=$((survivors + 1))
    else
        changed=$2
        build "$work/$1"
        if passes "$work/$1"; then
            echo "$1: no test failed" >&2
            survivors=$((survivors + 1))
        else
            echo "$1: noticed"
        fi
    fi
    rm -rf "${work:?}/$1"
}

mkdir -p "$work"
$cc $common -I"$root/src" -I"$root/include" -c "$root/tests/exact/oracle.c" -o "$work/oracle.o"

# The sources as they are have to pass, or the failures below would say nothing.
copy_sources "$work/unchanged"
build "$work/unchanged"
passes "$work/unchanged"

kernels=cpu/kernels
mutation window_one_bit_narrower $kernels/exact_bins.h 's/HEADROOM = LANE_BITS + 1,/HEADROOM = LANE_BITS,/'
mutation inexact_flag_ignored $kernels/exact_stream.h 's/return !tally_fpenv_inexact(out) &&/return/'
mutation lost_products_ignored $kernels/exact_products.h 's/return !tally_fpenv_inexact(pairs);/return true;/'
mutation bins_overflow $kernels/exact_bins.h 's/all >> 62 != 0/all >> 63 != 0/'
mutation unit_off_by_one $kernels/exact_stream.h 's/BITS_PER_LEVEL \* level - 52/BITS_PER_LEVEL * level - 51/'
mutation small_sum_forgets $kernels/exact_few.h 's/exact &= lost == 0;/exact \&= true;/'
mutation caller_flushes_to_zero cpu/fpenv.h 's/UINT32_C(0x1f80)/UINT32_C(0x9fc0)/'
mutation caller_rounds_down cpu/fpenv.h 's/UINT32_C(0x1f80)/UINT32_C(0x3f80)/'
mutation ties_away_from_zero exact/round.c 's/u.more || (kept & 1) != 0/u.more || true/'
mutation sticky_bit_lost exact/round.c 's/rest != 0 || u.more ||/rest != 0 ||/'
mutation remainder_lost exact/round.c 's/remainder != 0 || bits_left(&reader)/bits_left(\&reader)/'
mutation variance_remainder_lost exact/round.c 's/    u.more |= more;/    ;/'
mutation wide_divisor_carry_lost exact/round.c 's/carry || \*remainder >= divisor/*remainder >= divisor/'
mutation variance_borrow_lost exact/round.c 's/borrow >>= 32;/borrow = 0;/'
mutation carry_lost exact/superaccumulator.c 's/carry = limb >> 32;/carry = (limb >> 32) \& 0x7fffffff;/'
mutation borrow_lost exact/superaccumulator.h 's/limbs\[limb + 2\] += upper >> 32;/limbs[limb + 2] += (upper >> 32) \& 1;/'
mutation scan_rounds_twice $kernels/exact_scan.h 's/const double last = .*/const double last = 0;/'
mutation scan_forgets_roundings $kernels/exact_scan.h 's/(double)(n \/ W64 + MORE_ROUNDINGS) \* u \* rest_bound/0/'
mutation scan_forgets_rests $kernels/exact_scan.h 's/delta = no_rests ? least : .*/delta = least;/'
mutation scan_even_prefixes $kernels/exact_scan.h 's/const bool is_odd = .*/const bool is_odd = true;/'
mutation scan_small_results $kernels/exact_scan.h 's/smallest_of(results, n) >= power_of_two(w.top - 26)/true/'
mutation scan_forgets_its_error $kernels/exact_scan.h 's/        after.error += roundings;/        ;/'
mutation scan_window_too_narrow $kernels/exact_scan.h 's/exponent_of(bound) + 2 : -1022/exponent_of(bound) : -1022/'
mutation scan_ignores_growth $kernels/exact_scan.h 's/s->passed |= .*/(void)0;/'
mutation scan_not_rounded_to_odd $kernels/exact_window.h 's/((bits & dropped) + dropped)/0/'
mutation scan_rests_unseen $kernels/exact_integers.h 's/if (!tally_fpenv_inexact(results)) {/if (certain) {/'
mutation scan_margin_forgotten $kernels/exact_integers.h 's/b.margin = 2 \* most;/b.margin = 0;/'
mutation scan_forgets_block_rests $kernels/exact_integers.h 's/most = error + n \/ 2 + 1;/most = error;/'
mutation scan_small_integers $kernels/exact_integers.h 's/b.least = .*/b.least = 0;/'
mutation scan_integers_overflow $kernels/exact_units.h 's/_mm512_reduce_max_epu32(k.most) < most/true/'
mutation scan_forgets_what_was_left $kernels/exact_integers.h 's/return (error > 0 ? 2 + (uint64_t)error : 0)/return 0/'
mutation scan_exact_by_mistake $kernels/exact_units.h 's/bits = _mm512_or_si512(bits, _mm512_set1_epi32(1))/bits/'
mutation scan_even_integers $kernels/exact_units.h 's/_mm256_mask_blend_ps(odd, above, below)/below/'
mutation scan_two_units_inexact $kernels/exact_integers.h 's/if (tally_fpenv_inexact(results) || !certain)/if (!certain)/'
mutation scan_two_units_stray $kernels/exact_two_units.h 's/return _mm512_test_epi64_mask(k.strayed, .*/return true;/'
mutation scan_two_units_sums_stray $kernels/exact_two_units.h 's/            if (l == 0)/            if (l == 2)/'
mutation scan_two_units_low $kernels/exact_integers.h 's/(double)(int64_t)low == low/true/'
mutation scan_two_units_round_twice $kernels/exact_two_units.h 's/_mm512_mask_blend_pd(odd, above, below)/_mm512_add_round_pd(high, low, ROUND(TO_NEAREST_INT))/'
mutation scan_reads_its_output $kernels/exact_scan.h 's/if (in_place \&\& /if (0 \&\& /'
mutation scan_infinity_settles $kernels/exact_scan.h 's/(b.finite || is_settled(s->state))/1/'
mutation scan_loses_negative_zeros $kernels/exact_scan.h 's/zeros > 0 || is_sum_of_negative_zeros(before) ? zeros + 1 : 0/0/'

if [ "$survivors" -ne 0 ]; then
    echo "$survivors mutations were not noticed" >&2
    exit 1
fi
