/* All kernels of a monoid are one module, of which pipelines take one each: that makes a fifth of the library's size. */
void main() {
    told_types = p.types;
    told_ddof = p.ddof;
    if (KERNEL == 0)
        reduce();
    else if (KERNEL == 1)
        spine();
    else if (KERNEL == 2)
        scan_rows();
    else if (KERNEL == 3)
        scan_columns();
    else if (KERNEL == 4)
        fold_groups();
    else if (KERNEL == 5)
        spine_of_groups();
    else if (KERNEL == 6)
        give_groups();
    else if (KERNEL == 7)
        clear_control();
    else if (KERNEL == 8)
        inspect_segments();
    else if (KERNEL == 9)
        report();
}
