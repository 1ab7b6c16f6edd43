/* Each kernel is compiled by itself, from what it needs of its part's texts (prune.h). So a part may have any kernels
 * whose texts stand one after the other: a name in them means one thing. */
#include "cuda/parts.h"

#include "cuda/accumulator.h"
#include "cuda/texts.h"

/* The kernels that are one call. */
#define TALLY_CUDA_KERNEL(name, text)
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call)                                                                \
    static const char entry_##name[] = "extern \"C\" __global__ void __launch_bounds__" #bounds " " #name              \
                                       "(" #arguments " p SIZED) {\n    " #call ";\n}\n";
#include "cuda/kernels.def"
#include "cuda/states.h"

#define PIECES tally_cuda_kernels_pieces, entry_clear_totals, entry_lower_totals

/* ---- reductions of rows and columns ---- */

#define ROWS                                                                                                           \
    tally_cuda_kernels_fold_block, tally_cuda_kernels_append, tally_cuda_kernels_partials, tally_cuda_kernels_rows

static const char *const clusters[] = {ROWS, tally_cuda_kernels_cluster, NULL};
static const char *const rows[] = {ROWS,
                                   tally_cuda_kernels_hand_over,
                                   tally_cuda_kernels_reduce,
                                   entry_reduce,
                                   entry_reduce_across,
                                   tally_cuda_kernels_fold_partials,
                                   PIECES,
                                   NULL};
static const char *const tiny_rows[] = {ROWS, tally_cuda_kernels_ones, tally_cuda_kernels_tiny_rows, NULL};
static const char *const short_rows[] = {ROWS, tally_cuda_kernels_short_rows, NULL};

#define COLUMNS tally_cuda_kernels_partials, tally_cuda_kernels_columns
#define LONG_COLUMNS                                                                                                   \
    COLUMNS, tally_cuda_kernels_packed_columns, tally_cuda_kernels_hand_over, tally_cuda_kernels_fold_columns

static const char *const columns[] = {LONG_COLUMNS, entry_fold_columns, NULL};
static const char *const single_columns[] = {LONG_COLUMNS, entry_fold_single_columns, NULL};
static const char *const slabs[] = {tally_cuda_kernels_append, tally_cuda_kernels_slabs, NULL};
static const char *const thin_columns[] = {COLUMNS,
                                           tally_cuda_kernels_column_partials,
                                           tally_cuda_kernels_packed_columns,
                                           tally_cuda_kernels_lane_words,
                                           tally_cuda_kernels_thin_columns,
                                           NULL};

/* ---- reductions by segments and keys ---- */

#define GROUPS tally_cuda_kernels_fold_block, tally_cuda_kernels_hand_over, tally_cuda_kernels_groups
#define RUNS   GROUPS, tally_cuda_kernels_runs
#define GROUP_TILES                                                                                                    \
    tally_cuda_kernels_fold_tile, tally_cuda_kernels_tile_exponentials, tally_cuda_kernels_fold_heads,                 \
        tally_cuda_kernels_tile_sums
#define RUN_TILES GROUP_TILES, tally_cuda_kernels_tile_parts, tally_cuda_kernels_run_tiles

static const char *const few_segments[] = {tally_cuda_kernels_offsets, GROUPS, tally_cuda_kernels_few_segments, NULL};
#define SEGMENTS_OF_TILES                                                                                              \
    tally_cuda_kernels_offsets, GROUPS, tally_cuda_kernels_clear_control, GROUP_TILES, tally_cuda_kernels_tile_parts,  \
        tally_cuda_kernels_fold_segments

static const char *const segments[] = {SEGMENTS_OF_TILES,
                                       entry_fold_segments,
                                       tally_cuda_kernels_segment_ends,
                                       tally_cuda_kernels_fold_cuts,
                                       entry_fold_cuts,
                                       tally_cuda_kernels_finish_segments,
                                       entry_finish_segments,
                                       NULL};
static const char *const small_segments[] = {tally_cuda_kernels_small_tiles, SEGMENTS_OF_TILES,
                                             entry_fold_small_segments, NULL};
static const char *const parts_of_segments[] = {tally_cuda_kernels_by_parts, SEGMENTS_OF_TILES,
                                                entry_fold_segments_by_parts, NULL};
static const char *const pieces_of_segments[] = {tally_cuda_kernels_offsets,
                                                 GROUPS,
                                                 tally_cuda_kernels_append,
                                                 tally_cuda_kernels_rows,
                                                 tally_cuda_kernels_segment_ends,
                                                 tally_cuda_kernels_fold_cuts,
                                                 tally_cuda_kernels_finish_segments,
                                                 tally_cuda_kernels_pieces_of_segments,
                                                 entry_fold_pieces,
                                                 entry_join_pieces,
                                                 NULL};
static const char *const long_segments[] = {tally_cuda_kernels_offsets,       GROUPS,
                                            tally_cuda_kernels_append,        tally_cuda_kernels_warp_rows,
                                            tally_cuda_kernels_long_segments, NULL};
static const char *const merged_segments[] = {
    tally_cuda_kernels_offsets, GROUPS, tally_cuda_kernels_merged_segments, tally_cuda_kernels_fold_cuts,
    entry_fold_merged_cuts,     NULL};
static const char *const waves[] = {RUNS,
                                    tally_cuda_kernels_pipeline,
                                    tally_cuda_kernels_fetch,
                                    tally_cuda_kernels_stretch,
                                    tally_cuda_kernels_wave_runs,
                                    NULL};
static const char *const runs[] = {RUNS, RUN_TILES, tally_cuda_kernels_fold_runs, NULL};
static const char *const apart_runs[] = {tally_cuda_kernels_small_tiles,
                                         RUNS,
                                         RUN_TILES,
                                         tally_cuda_kernels_fold_cuts,
                                         tally_cuda_kernels_apart_runs,
                                         entry_fold_runs_apart,
                                         entry_place_runs_apart,
                                         NULL};
static const char *const few_runs[] = {RUNS,
                                       tally_cuda_kernels_mark_runs,
                                       RUN_TILES,
                                       tally_cuda_kernels_fold_cuts,
                                       entry_fold_cuts,
                                       tally_cuda_kernels_few_runs,
                                       NULL};

/* ---- reductions by labels ---- */

static const char *const labels[] = {tally_cuda_kernels_label_loads, tally_cuda_kernels_sort_labels, NULL};
#define LABEL_SUMS                                                                                                     \
    tally_cuda_kernels_label_loads, tally_cuda_kernels_label_sums, tally_cuda_kernels_label_sample,                    \
        tally_cuda_kernels_label_buckets

static const char *const label_sums[] = {LABEL_SUMS, NULL};
static const char *const tables[] = {tally_cuda_kernels_label_loads, tally_cuda_kernels_label_tables, NULL};
static const char *const cells[] = {tally_cuda_kernels_label_loads, tally_cuda_kernels_label_cells, NULL};

/* ---- scans ---- */

#define TILES                                                                                                          \
    tally_cuda_kernels_pipeline, tally_cuda_kernels_hand_over, tally_cuda_kernels_waves,                               \
        tally_cuda_kernels_scan_tiles, tally_cuda_kernels_fetch, tally_cuda_kernels_scan_move,                         \
        tally_cuda_kernels_stretch, tally_cuda_kernels_scan_finish

static const char *const scan[] = {TILES, tally_cuda_kernels_scan_sum, tally_cuda_kernels_scan, NULL};
static const char *const scan_in_window[] = {TILES,
                                             tally_cuda_kernels_window_levels,
                                             tally_cuda_kernels_scan_in_window,
                                             tally_cuda_kernels_scan_sum,
                                             tally_cuda_kernels_scan,
                                             tally_cuda_kernels_scan_window,
                                             NULL};
static const char *const scan_of_words[] = {TILES, tally_cuda_kernels_scan_words, tally_cuda_kernels_scan_sum,
                                            tally_cuda_kernels_scan, NULL};
static const char *const scan_of_flags[] = {TILES, tally_cuda_kernels_scan_flags, tally_cuda_kernels_scan_sum,
                                            tally_cuda_kernels_scan, NULL};
static const char *const scan_of_places[] = {TILES, tally_cuda_kernels_scan_places, tally_cuda_kernels_scan_sum,
                                             tally_cuda_kernels_scan, NULL};
static const char *const scan_of_terms[] = {TILES,
                                            tally_cuda_kernels_scan_integers,
                                            tally_cuda_kernels_scan_sum,
                                            tally_cuda_kernels_scan_vectors,
                                            tally_cuda_kernels_scan_terms,
                                            tally_cuda_kernels_scan,
                                            NULL};
static const char *const exact_chunks[] = {tally_cuda_kernels_exact_chunks, NULL};

#define ONE_WAVE_TILES                                                                                                 \
    tally_cuda_kernels_in_one_wave, tally_cuda_kernels_offsets, tally_cuda_kernels_pipeline,                           \
        tally_cuda_kernels_hand_over, tally_cuda_kernels_waves, tally_cuda_kernels_scan_tiles,                         \
        tally_cuda_kernels_fetch, tally_cuda_kernels_stretch, tally_cuda_kernels_look_back,                            \
        tally_cuda_kernels_scan_finish

#define ONE_WAVE ONE_WAVE_TILES, tally_cuda_kernels_scan_one_wave, entry_scan_one_wave
#define ONE_WAVE_WORDS                                                                                                 \
    ONE_WAVE_TILES, tally_cuda_kernels_scan_words, tally_cuda_kernels_scan_one_wave, entry_scan_one_wave
#define ONE_WAVE_TERMS                                                                                                 \
    ONE_WAVE_TILES, tally_cuda_kernels_scan_integers, tally_cuda_kernels_scan_vectors, tally_cuda_kernels_scan_terms,  \
        tally_cuda_kernels_scan_one_wave, entry_scan_one_wave

static const char *const one_wave_of_segments[] = {ONE_WAVE, tally_cuda_kernels_check_offsets, NULL};
static const char *const one_wave_of_keys[] = {ONE_WAVE, tally_cuda_kernels_clear_words, NULL};
static const char *const words_of_segments[] = {ONE_WAVE_WORDS, tally_cuda_kernels_check_offsets, NULL};
static const char *const words_of_keys[] = {ONE_WAVE_WORDS, tally_cuda_kernels_clear_words, NULL};
#define ONE_WAVE_FLAGS                                                                                                 \
    ONE_WAVE_TILES, tally_cuda_kernels_scan_flags, tally_cuda_kernels_scan_one_wave, entry_scan_one_wave
static const char *const flags_of_segments[] = {ONE_WAVE_FLAGS, tally_cuda_kernels_check_offsets, NULL};
static const char *const flags_of_keys[] = {ONE_WAVE_FLAGS, tally_cuda_kernels_clear_words, NULL};
#define ONE_WAVE_PLACES                                                                                                \
    ONE_WAVE_TILES, tally_cuda_kernels_scan_places, tally_cuda_kernels_scan_one_wave, entry_scan_one_wave
static const char *const places_of_segments[] = {ONE_WAVE_PLACES, tally_cuda_kernels_check_offsets, NULL};
static const char *const places_of_keys[] = {ONE_WAVE_PLACES, tally_cuda_kernels_clear_words, NULL};
static const char *const terms_of_segments[] = {ONE_WAVE_TERMS, tally_cuda_kernels_check_offsets, NULL};
static const char *const terms_of_others[] = {ONE_WAVE_TERMS, tally_cuda_kernels_clear_words, NULL};

static const char *const small_wave[] = {tally_cuda_kernels_small_tiles,
                                         ONE_WAVE_TILES,
                                         tally_cuda_kernels_scan_integers,
                                         tally_cuda_kernels_scan_vectors,
                                         tally_cuda_kernels_scan_terms,
                                         tally_cuda_kernels_scan_one_wave,
                                         entry_scan_small_wave,
                                         NULL};

#define LOOK_BACK                                                                                                      \
    tally_cuda_kernels_by_look_back, tally_cuda_kernels_pipeline, tally_cuda_kernels_hand_over,                        \
        tally_cuda_kernels_waves, tally_cuda_kernels_scan_tiles, tally_cuda_kernels_fetch, tally_cuda_kernels_stretch, \
        tally_cuda_kernels_look_back, tally_cuda_kernels_scan_finish, tally_cuda_kernels_scan_integers,                \
        tally_cuda_kernels_scan_vectors, tally_cuda_kernels_scan_terms, tally_cuda_kernels_look_back_terms,            \
        tally_cuda_kernels_look_back_vectors, tally_cuda_kernels_scan_look_back

static const char *const look_back[] = {LOOK_BACK, entry_scan_look_back, NULL};
static const char *const small_look_back[] = {tally_cuda_kernels_small_tiles, LOOK_BACK, entry_scan_small_look_back,
                                              NULL};
static const char *const held[] = {tally_cuda_kernels_hand_over, tally_cuda_kernels_scan_held, PIECES, NULL};
static const char *const pieces[] = {PIECES, NULL};
static const char *const marks[] = {tally_cuda_kernels_offsets, tally_cuda_kernels_offset_bits, entry_mark_offsets,
                                    tally_cuda_kernels_clear_words, NULL};
static const char *const stretches[] = {tally_cuda_kernels_scan_columns, PIECES, NULL};
static const char *const panels[] = {
    tally_cuda_kernels_of_panels, TILES, tally_cuda_kernels_strands, tally_cuda_kernels_panels, entry_scan_panels,
    entry_scan_thin_panels,       NULL};
static const char *const narrow[] = {tally_cuda_kernels_of_columns, TILES, tally_cuda_kernels_strands,
                                     tally_cuda_kernels_scan_narrow, NULL};

static const char *const scan_of_slabs[] = {tally_cuda_kernels_scan_slabs, tally_cuda_kernels_lane_words,
                                            tally_cuda_kernels_packed_scans, tally_cuda_kernels_scan_thin, NULL};
static const char *const scan_of_few[] = {tally_cuda_kernels_scan_few, NULL};

static const char *const tall[] = {tally_cuda_kernels_pipeline,     tally_cuda_kernels_hand_over,
                                   tally_cuda_kernels_waves,        tally_cuda_kernels_strands,
                                   tally_cuda_kernels_packed_scans, tally_cuda_kernels_tall_tiles,
                                   tally_cuda_kernels_scan_tall,    NULL};

static const char *const held_columns[] = {tally_cuda_kernels_scan_held_columns, NULL};

/* ---- exact sums ---- */

#define EXACT                                                                                                          \
    tally_cuda_kernels_exact_bits, tally_cuda_kernels_exact, tally_cuda_kernels_exact_levels,                          \
        tally_cuda_kernels_exact_tiles, tally_cuda_kernels_words, tally_cuda_kernels_digits,                           \
        tally_cuda_kernels_variance, tally_cuda_kernels_exact_round
#define EXACT_PIECES tally_cuda_kernels_exact_pieces, entry_clear_totals, entry_lower_totals

static const char *const exact_rows[] = {tally_cuda_kernels_clear_words, EXACT, tally_cuda_kernels_exact_rows, NULL};
static const char *const exact_pieces[] = {EXACT, EXACT_PIECES, NULL};
static const char *const exact_groups[] = {EXACT, tally_cuda_kernels_exact_groups, EXACT_PIECES, NULL};
static const char *const exact_segments[] = {tally_cuda_kernels_offsets, entry_check_segments, EXACT,
                                             tally_cuda_kernels_exact_groups, NULL};
static const char *const exact_label_sums[] = {EXACT, LABEL_SUMS, NULL};
static const char *const exact_keys[] = {EXACT, tally_cuda_kernels_heads, tally_cuda_kernels_exact_keys, NULL};
#define STATES tally_cuda_kernels_words, tally_cuda_kernels_state_words
static const char *const states[] = {STATES, tally_cuda_kernels_states, NULL};
static const char *const group_states[] = {tally_cuda_kernels_offsets, tally_cuda_kernels_group_offsets, STATES,
                                           tally_cuda_kernels_group_states, NULL};
static const char *const offsets[] = {tally_cuda_kernels_offsets, entry_check_segments, NULL};
static const char *const places[] = {tally_cuda_kernels_offsets, tally_cuda_kernels_group_offsets,
                                     tally_cuda_kernels_places, NULL};
static const char *const list_runs[] = {tally_cuda_kernels_heads, tally_cuda_kernels_list_runs, NULL};
const char *const tally_cuda_part_of_rebase[] = {tally_cuda_kernels_rebase, NULL};
const char *const tally_cuda_part_of_carry[] = {STATES, tally_cuda_kernels_carry, NULL};
static const char *const exact_words[] = {EXACT, tally_cuda_kernels_group_offsets, tally_cuda_kernels_exact_words,
                                          NULL};

static const char *const size_report[] = {tally_cuda_kernels_size_report, NULL};
static const char *const try_operator[] = {tally_cuda_kernels_try_operator, NULL};

/* ---- which there are ---- */

typedef struct list {
    const char *const **parts;
    size_t count;
} list;

static void add(list *l, const char *const *part) {
    l->parts[l->count++] = part;
}

static void add_states(list *l, const tally_computation *c) {
    switch (c->desc.grouping) {
    case TALLY_SEGMENTS:
        add(l, group_states);
        add(l, offsets);
        break;
    case TALLY_KEYS:
        add(l, group_states);
        add(l, list_runs);
        break;
    case TALLY_LABELS:
        add(l, labels);
        break;
    default:
        add(l, states);
        break;
    }
}

static void add_exact(list *l, const tally_computation *c, const tally_cuda_sizes *sizes) {
    if (c->takes_words) {
        add(l, exact_words);
        if (c->desc.grouping == TALLY_SEGMENTS)
            add(l, offsets);
        if (c->desc.grouping == TALLY_KEYS)
            add(l, list_runs);
        return;
    }
    switch (c->desc.grouping) {
    case TALLY_SEGMENTS:
        add(l, exact_segments);
        break;
    case TALLY_KEYS:
        add(l, exact_keys);
        break;
    case TALLY_LABELS:
        add(l, labels);
        if (sizes->label_words)
            add(l, exact_label_sums);
        break;
    default:
        add(l, exact_rows);
        add(l, c->desc.grouping == TALLY_AXIS ? exact_groups : exact_pieces);
        break;
    }
}

static void add_scans(list *l, const tally_computation *c, const tally_cuda_sizes *sizes) {
    if (tally_cuda_counts_places(c)) {
        add(l, places);
        if (c->desc.grouping == TALLY_KEYS)
            add(l, list_runs);
        return;
    }
    if (c->in_window) {
        add(l, scan_in_window);
        if (c->desc.grouping == TALLY_SEGMENTS)
            add(l, marks);
        return;
    }
    if (tally_cuda_scans_by_chunks(c))
        add(l, exact_chunks);
    if (tally_cuda_scans_by_chunks_alone(c)) {
        if (c->desc.grouping == TALLY_ALL_VALUES || c->desc.grouping == TALLY_AXIS)
            add(l, pieces);
        if (c->desc.grouping == TALLY_SEGMENTS)
            add(l, marks);
        return;
    }
    if (c->desc.grouping == TALLY_AXIS)
        add(l, stretches);
    const bool has_extent = c->desc.grouping == TALLY_AXIS && !c->is_sized; /* which the host knows */
    if (has_extent && sizes->scan.takes_panels)
        add(l, panels);
    if (has_extent && sizes->narrow.columns)
        add(l, narrow);
    if (sizes->look_back.shared)
        add(l, look_back);
    if (sizes->look_back.few_shared)
        add(l, small_look_back);
    if (!sizes->look_back.shared || sizes->look_back.most < UINT64_MAX)
        add(l, tally_cuda_word_kind(c)      ? scan_of_words
               : tally_cuda_scans_flags(c)  ? scan_of_flags
               : tally_cuda_finds_places(c) ? scan_of_places
               : tally_cuda_has_terms(c)    ? scan_of_terms
                                            : scan);
    if (has_extent) {
        add(l, scan_of_slabs);
        add(l, scan_of_few);
    }
    if (has_extent && sizes->tall.items)
        add(l, tall);
    if (has_extent && sizes->scan.strand)
        add(l, held_columns);
    if (sizes->held_rows)
        add(l, held);
    else if (c->desc.grouping == TALLY_ALL_VALUES)
        add(l, pieces);
    if (sizes->one_wave.shared && tally_cuda_has_terms(c))
        add(l, c->desc.grouping == TALLY_SEGMENTS ? terms_of_segments : terms_of_others);
    else if (sizes->one_wave.shared && tally_cuda_word_kind(c))
        add(l, c->desc.grouping == TALLY_KEYS ? words_of_keys : words_of_segments);
    else if (sizes->one_wave.shared && tally_cuda_scans_flags(c))
        add(l, c->desc.grouping == TALLY_KEYS ? flags_of_keys : flags_of_segments);
    else if (sizes->one_wave.shared && tally_cuda_finds_places(c))
        add(l, c->desc.grouping == TALLY_KEYS ? places_of_keys : places_of_segments);
    else if (sizes->one_wave.shared)
        add(l, c->desc.grouping == TALLY_KEYS ? one_wave_of_keys : one_wave_of_segments);
    if (sizes->one_wave.few_shared)
        add(l, small_wave);
    if (c->desc.grouping == TALLY_SEGMENTS)
        add(l, marks);
}

static void add_reductions(list *l, const tally_computation *c, const tally_cuda_sizes *sizes) {
    switch (c->desc.grouping) {
    case TALLY_AXIS:
        add(l, columns);
        add(l, thin_columns);
        add(l, rows);
        if (sizes->column_width > 1)
            add(l, single_columns);
        if (c->is_sized) /* what follows is for extents that the host knows */
            break;
        if (sizes->has_row_clusters)
            add(l, clusters);
        add(l, slabs);
        if (!sizes->is_large)
            add(l, tiny_rows);
        if (c->entry || c->user.commutes)
            add(l, short_rows);
        break;
    case TALLY_SEGMENTS:
        add(l, segments);
        if (!c->is_sized)
            add(l, few_segments);
        if (!c->is_sized && !c->takes_turns)
            add(l, pieces_of_segments);
        if (sizes->small_fold_tile)
            add(l, small_segments);
        if (sizes->parts_tile)
            add(l, parts_of_segments);
        if (sizes->long_mean)
            add(l, long_segments);
        if (sizes->merged_tile)
            add(l, merged_segments);
        break;
    case TALLY_KEYS:
        if (sizes->folds_in_waves)
            add(l, waves);
        add(l, runs);
        add(l, few_runs);
        if (!c->is_sized)
            add(l, apart_runs);
        break;
    case TALLY_LABELS:
        add(l, labels);
        if (sizes->has_tables)
            add(l, tables);
        if (sizes->has_cells)
            add(l, cells);
        if (sizes->label_words)
            add(l, label_sums);
        break;
    default:
        if (sizes->has_clusters)
            add(l, clusters);
        add(l, rows);
        break;
    }
}

size_t tally_cuda_parts_of(const tally_computation *c, const tally_cuda_sizes *sizes,
                           const char *const *parts[TALLY_CUDA_MOST_PARTS]) {
    list l = {parts, 0};
    if (tally_cuda_has_states(c))
        add_states(&l, c);
    else if (c->exact && !tally_is_scan(c))
        add_exact(&l, c, sizes);
    else if (tally_is_scan(c))
        add_scans(&l, c, sizes);
    else
        add_reductions(&l, c, sizes);
    if (c->is_sized)
        add(&l, size_report);
    if (!c->entry)
        add(&l, try_operator);
    return l.count;
}

const char *const tally_cuda_kernel_names[] = {
#define TALLY_CUDA_KERNEL(name, text)                   #name,
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) #name,
#include "cuda/kernels.def"
};

bool tally_cuda_part_has(const char *const *part, size_t kernel) {
    static const char *const texts[] = {
#define TALLY_CUDA_KERNEL(name, text)                   tally_cuda_kernels_##text,
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) entry_##name,
#include "cuda/kernels.def"
    };
    while (*part && *part != texts[kernel])
        part++;
    return *part != NULL;
}
