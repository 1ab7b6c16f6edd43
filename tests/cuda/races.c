/* The emulator's detector of races (emulator/races.h) finds what nothing orders, and nothing else. Each kernel is one
 * block of two warps; its text goes through the emulator's stand-ins, in the environment of emulator/emulate.in. */
#include "support.h"

#include "cuda/driver.h"
#include "cuda/compiler.h"

enum { THREADS = 64 };

static const struct {
    const char *what;
    bool races;
    const char *body;
} kernels[] = {
    {"read by another thread", true, "s[t] = t; out[t] = s[t ^ 1];"},
    {"read by its own thread", false, "s[t] = t; out[t] = s[t];"},
    {"in order by __syncthreads", false, "s[t] = t; __syncthreads(); out[t] = s[t ^ 63];"},
    {"in order by __syncwarp", false, "s[t] = t; __syncwarp(); out[t] = s[t ^ 1];"},
    {"read by another warp behind __syncwarp", true, "s[t] = t; __syncwarp(); out[t] = s[t ^ 32];"},
    {"in order by nothing but a shuffle", true, "s[t] = t; __shfl_sync(~0u, t, 0); out[t] = s[t ^ 1];"},
    {"each warp at a barrier of its own", true, "s[t] = t; sync_some<32>(1 + t / 32); out[t] = s[t ^ 32];"},
    {"both at one named barrier", false, "s[t] = t; sync_some<64>(1); out[t] = s[t ^ 32];"},
    {"overwritten while others read", true, "s[t] = t; __syncthreads(); out[t] = s[t ^ 1]; s[t] = 0;"},
    {"bytes of one word", false, "((unsigned char *)s)[t] = t;"},
    {"the same byte", true, "((unsigned char *)s)[t / 2] = t;"},
    {"all arrive", false, "open_for(64); s[t] = t; arrive_at_mbarrier(&gate); wait(); out[t] = s[t ^ 32];"},
    {"one arrives for its warp", false,
     "open_for(2); s[t] = t; __syncwarp(); if (t % 32 == 0) arrive_at_mbarrier(&gate); wait(); out[t] = s[t ^ 33];"},
    {"one arrives before its warp is done", true,
     "open_for(2); s[t] = t; if (t % 32 == 0) arrive_at_mbarrier(&gate); wait(); out[t] = s[t ^ 33];"},
    {"copies waited for", false,
     "copy_ahead<4>(&s[t], in + t); end_copies_ahead(); wait_for_copies_ahead<0>(); __syncthreads(); out[t] = s[t ^ "
     "33];"},
    {"copies that nobody waits for", true,
     "copy_ahead<4>(&s[t], in + t); end_copies_ahead(); __syncthreads(); out[t] = s[t ^ 33]; "
     "wait_for_copies_ahead<0>();"},
    {"copies that arrive", false,
     "open_for(64); copy_ahead<4>(&s[t], in + t); arrive_after_copies(&gate); wait(); out[t] = s[t ^ 33];"},
    {"a store that copies arrive for", true,
     "open_for(64); s[t] = t; arrive_after_copies(&gate); wait(); out[t] = s[t ^ 33];"},
    {"a copy in bulk that arrives", false,
     "open_for(1); if (t == 0) { arrive_and_expect(&gate, 256); copy_in(s, in, 256, &gate); } wait(); out[t] = s[t];"},
    {"a copy in bulk over what is being read", true,
     "open_for(1); s[t] = t; __syncthreads(); out[t] = s[t ^ 1];"
     "if (t == 0) { arrive_and_expect(&gate, 256); copy_in(s, in, 256, &gate); } wait();"},
};

static const char text[] = "extern \"C\" __global__ void kernel(unsigned *out, const unsigned *in) {\n"
                           "    __shared__ alignas(16) unsigned s[64];\n"
                           "    __shared__ unsigned long long gate;\n"
                           "    const unsigned t = threadIdx.x;\n"
                           "    auto open_for = [&](int count) {\n"
                           "        if (t == 0)\n"
                           "            init_mbarrier(&gate, count);\n"
                           "        __syncthreads();\n"
                           "    };\n"
                           "    auto wait = [&] { while (!has_passed(&gate, 0)); };\n"
                           "    %s\n"
                           "}\n";

/* Whether the launch is good. */
static bool runs(const char *body) {
    CUresult (*load)(CUmodule *, const void *, unsigned, CUjit_option *, void **);
    CUresult (*find)(CUfunction *, CUmodule, const char *);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                       void **, void **);
    find_function(FAKE_DRIVER, "cuModuleLoadDataEx", &load);
    find_function(FAKE_DRIVER, "cuModuleGetFunction", &find);
    find_function(FAKE_DRIVER, "cuLaunchKernel", &launch);
    char source[4096];
    snprintf(source, sizeof source, text, body);
    static _Alignas(16) unsigned out[THREADS], in[THREADS];
    CUdeviceptr to = (uintptr_t)out, from = (uintptr_t)in;
    void *parameters[] = {&to, &from};
    tally_image image = {0};
    CUmodule module;
    CUfunction kernel;
    assert_ok(tally_cuda_compile(source, "races.cu", NULL, 0, 90, &image, NULL));
    assert_int_equal(load(&module, image.bytes, 0, NULL, NULL), CUDA_SUCCESS);
    assert_int_equal(find(&kernel, module, "kernel"), CUDA_SUCCESS);
    const bool good = launch(kernel, 1, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL) == CUDA_SUCCESS;
    tally_image_free(&image);
    return good;
}

static void are_found_where_nothing_orders(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kernels); k++)
        if (runs(kernels[k].body) == kernels[k].races)
            fail_msg("%s: a race is %s", kernels[k].what, kernels[k].races ? "not found" : "found that is none");
}

int main(void) {
    setenv("EMULATE_RACES", "1", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(are_found_where_nothing_orders)};
    return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
