! gfortran tally.f90 sums.f90 -ltally && ./a.out
program sums
    use, intrinsic :: iso_c_binding, only: c_double, c_int, c_size_t
    use tally
    implicit none
    real(c_double) :: x(3) = [1e16_c_double, 1.0_c_double, -1e16_c_double], totals(3), matrix(2, 3), results(6), untouched = 7
    integer(c_int) :: status(6)
    status(1) = tally_sum_exact(x, 3_c_size_t, results(1))
    status(2) = tally_max(x, 3_c_size_t, results(2))
    status(3) = tally_cumsum([1.0_c_double, 2.0_c_double, 3.0_c_double], 3_c_size_t, totals)
    matrix = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    status(4) = tally_sum(matrix, size(matrix, kind=c_size_t), results(4))
    status(5) = tally_mean(matrix(2, :), 3_c_size_t, results(5)) ! a row is strided
    status(6) = tally_dot(matrix, matrix, 6_c_size_t, results(6))
    print "(a, *(f0.1, 1x))", "exact, maximum, sum, mean, dot: ", results(1:2), results(4:6)
    print "(a, *(f0.1, 1x))", "running: ", totals
    if (any(status /= 0)) error stop "a call failed"
    if (any(results([1, 2, 4, 5, 6]) /= [1.0_c_double, 1e16_c_double, 21.0_c_double, 4.0_c_double, 91.0_c_double])) error stop
    if (any(totals /= [1, 3, 6])) error stop "running sums"
    if (tally_max(x, 0_c_size_t, untouched) == 0 .or. untouched /= 7) error stop "the maximum of nothing has a value"
end program
