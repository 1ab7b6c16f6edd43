/* The pass that adds up panels' chunks (panels.cu). */
extern "C" __global__ void __launch_bounds__(SCAN_PANEL_THREADS, 1) sum_panels(panels_args p) {
    pass_panels<true>(p);
}
