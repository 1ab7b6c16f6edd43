/* The pass that scans panels (panels.cu). */
extern "C" __global__ void __launch_bounds__(SCAN_PANEL_THREADS, 1) scan_panels(panels_args p) {
    pass_panels<false>(p);
}
