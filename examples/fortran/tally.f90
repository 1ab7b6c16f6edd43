! tally for Fortran: calls of tally/tally.h's simple layer, for arrays of doubles. They return 0, or a tally_status.
! n is size(x, kind=c_size_t). Strided arrays are passed as copies.
module tally
    use, intrinsic :: iso_c_binding, only: c_double, c_int, c_size_t
    implicit none
    public
    private :: c_double, c_int, c_size_t
    abstract interface
        integer(c_int) function reduction(x, n, result) bind(c)
            import :: c_double, c_int, c_size_t
            real(c_double), intent(in) :: x(*)
            integer(c_size_t), value :: n
            real(c_double), intent(inout) :: result ! untouched if the call fails
        end function
        integer(c_int) function reduction_of_two(x, y, n, result) bind(c)
            import :: c_double, c_int, c_size_t
            real(c_double), intent(in) :: x(*), y(*)
            integer(c_size_t), value :: n
            real(c_double), intent(inout) :: result
        end function
        integer(c_int) function running(x, n, result) bind(c)
            import :: c_double, c_int, c_size_t
            real(c_double), intent(in) :: x(*)
            integer(c_size_t), value :: n
            real(c_double), intent(inout) :: result(*)
        end function
    end interface
    procedure(reduction), bind(c, name="tally_sum_f64") :: tally_sum
    procedure(reduction), bind(c, name="tally_sum_exact_f64") :: tally_sum_exact ! rounded once
    procedure(reduction), bind(c, name="tally_min_f64") :: tally_min
    procedure(reduction), bind(c, name="tally_max_f64") :: tally_max
    procedure(reduction), bind(c, name="tally_mean_f64") :: tally_mean
    procedure(reduction_of_two), bind(c, name="tally_dot_f64") :: tally_dot
    procedure(running), bind(c, name="tally_cumsum_f64") :: tally_cumsum ! result(i) = x(1) + ... + x(i)
end module
