/* A stand-in for libnvrtc: its machine code is ELF's mark, the options and the source. A source with "#error" does not
 * compile, and the log repeats the line; for one with "#memory" there is no memory. */
#ifndef TALLY_TEST_CUDA_FAKE_NVRTC_H
#define TALLY_TEST_CUDA_FAKE_NVRTC_H

typedef struct fake_nvrtc_state {
    int milliseconds; /* that a compilation takes; to be set by the test */
    int meeting;      /* each compilation waits until so many run, ten seconds at most; to be set by the test */
    int compilations; /* counted */
    int running;
    int most_running; /* at a time */
    int ptx;          /* of these, ended as PTX */
} fake_nvrtc_state;

typedef fake_nvrtc_state *fake_nvrtc_function(void);

#endif
