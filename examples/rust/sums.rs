// bindgen tally.h -o tally.rs && rustc sums.rs -l tally
#![allow(non_upper_case_globals, non_camel_case_types, dead_code, improper_ctypes)]
mod tally {
    include!("tally.rs");
}
use std::ffi::CStr;
use tally::*;

fn main() {
    let x = [1e16f64, 1.0, -1e16];
    let (mut exact, mut greatest, mut rows) = (0f64, 7f64, [0f32; 2]);
    unsafe {
        assert_eq!(tally_sum_exact_f64(x.as_ptr(), x.len() as _, &mut exact), tally_status_TALLY_OK);
        assert_eq!(exact, 1.0);
        assert_eq!(tally_max_f64(x.as_ptr(), 0, &mut greatest), tally_status_TALLY_EMPTY);
        println!("exact {exact}; {}", CStr::from_ptr(tally_last_error()).to_str().unwrap());

        // A plan: the sums of the rows of a matrix.
        let (mut device, mut plan) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut desc: tally_desc = std::mem::zeroed();
        desc.struct_size = std::mem::size_of::<tally_desc>() as _;
        desc.grouping = tally_grouping_TALLY_AXIS;
        desc.in_ = tally_dtype_TALLY_F32;
        assert_eq!(tally_open(b"cpu\0".as_ptr().cast(), &mut device), tally_status_TALLY_OK);
        assert_eq!(tally_plan_create(device, &desc, &mut plan), tally_status_TALLY_OK);
        let matrix = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut args: tally_args = std::mem::zeroed();
        args.struct_size = std::mem::size_of::<tally_args>() as _;
        args.shape = tally_shape { outer: 2, extent: 3, inner: 1, groups: 0 };
        args.x = matrix.as_ptr().cast();
        args.out = rows.as_mut_ptr().cast();
        args.out_bytes = 8;
        assert_eq!(tally_run(plan, &args, std::ptr::null_mut()), tally_status_TALLY_OK);
        tally_plan_destroy(plan);
        tally_close(device);
    }
    assert_eq!(rows, [6.0, 15.0]);
    println!("rows {rows:?}");
}
