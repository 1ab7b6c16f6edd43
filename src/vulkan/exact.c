#include "vulkan/exact.h"

#include <string.h>

#include "core/arithmetic.h"
#include "exact/superaccumulator.h"

enum {
    KEY_CHUNK = 4096,      /* keys whose runs one workgroup adds, as in exact_keys.comp */
    WIDE_KEY_CHUNK = 1024, /* of f64 */
    MOMENTS_KEYS = 1024,   /* of variances */
    WIDE_MOMENTS_KEYS = 128,
    CHUNKS = 512,        /* workgroups that share a row. f32, of the roof: 512, 0.82; 1024, 0.80; 2048, 0.75 */
    LEAST_CHUNK = 16384, /* elements of theirs */
    EACH = 4 * 8 * 16,   /* bytes that a thread has of a group: four times its vectors */
    PIECES = 512,        /* of a segment that has all elements */
    LONG = 16,           /* teams leave segments longer than a piece by this number to whole workgroups */
    PIECE_GROUPS = 1024, /* workgroups that take turns with pieces */
    PIECE_BYTES = 16,    /* as in exact.comp */
    MOST_EACH = 512,     /* elements of a segment that a thread of a team has */
    MOST_CHUNKS = 16384, /* whose sums words have room for */
    /* Mesa's lavapipe ends a thread's loops after 65535 rounds of them all (LP_MAX_TGSI_LOOP_ITERATIONS), and an
     * element that no level takes needs several. So on a device in software a thread has few elements. With 512,
     * variances of random bits were wrong; with 2048, also dot products of f64 of +-20 exponents. */
    MOST_IN_SOFTWARE = 128
};

tally_monoid tally_vulkan_exact_monoid_of(const tally_computation *c) {
    return c->monoid == TALLY_MONOID_moments      ? TALLY_MONOID_moments
           : tally_exact_has_products(c->desc.op) ? TALLY_MONOID_dot
                                                  : TALLY_MONOID_sum;
}

static tally_vulkan_numbers numbers_of(const tally_computation *c) {
    return tally_vulkan_numbers_of(tally_vulkan_exact_monoid_of(c), c->desc.in);
}

uint64_t tally_vulkan_exact_state_bytes(const tally_computation *c) {
    const tally_vulkan_numbers n = numbers_of(c);
    return (2 * (uint64_t)(n.sum_limbs + n.limbs) + 4) * sizeof(uint32_t);
}

/* Words of 16 bits, of which the highest one has the sign. */
tally_status tally_vulkan_put_exact(const tally_computation *c, const tally_superaccumulator *sums, int count,
                                    uint32_t saw, char *to) {
    (void)c;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < sums[k].limb_count; i++) {
            const int32_t halves[2] = {(int32_t)(sums[k].limbs[i] & 0xffff), (int32_t)(sums[k].limbs[i] >> 16)};
            memcpy(to, halves, sizeof halves);
            to += sizeof halves;
        }
    memset(to, 0, 4 * sizeof saw); /* none were left out: that is in the number of elements */
    memcpy(to, &saw, sizeof saw);
    return TALLY_OK;
}

static uint64_t key_chunk_of(const tally_computation *c) {
    const bool is_wide = c->desc.in == TALLY_F64;
    if (tally_vulkan_exact_monoid_of(c) == TALLY_MONOID_moments)
        return is_wide ? WIDE_MOMENTS_KEYS : MOMENTS_KEYS;
    return is_wide ? WIDE_KEY_CHUNK : KEY_CHUNK;
}

/* Threads that share a group of this many elements: a power of two. */
static uint32_t team_of(const tally_vulkan_device *device, const tally_computation *c, uint64_t elements) {
    uint32_t threads = numbers_of(c).least_team;
    while (threads < device->block && (uint64_t)threads * EACH < elements * c->in_bytes)
        threads *= 2;
    return threads;
}

/* Elements that a workgroup takes at most, of so many. */
static uint64_t most_together(const tally_vulkan_device *device, uint64_t elements) {
    return device->is_software ? most((uint64_t)device->block * MOST_IN_SOFTWARE, divide_up(elements, MOST_CHUNKS))
                               : TALLY_VULKAN_MOST_CHUNK;
}

static void cut_rows(const tally_vulkan_device *device, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t wanted = divide_up(cut->extent, LEAST_CHUNK), chunks = most(1, least(wanted, CHUNKS / cut->columns));
    /* whole vectors */
    const uint64_t units = divide_up(divide_up(cut->extent, chunks), LEAST_CHUNK);
    cut->chunk = most(1, least(most(1, units) * LEAST_CHUNK, most_together(device, cut->extent)));
    cut->chunks = cut->extent ? divide_up(cut->extent, cut->chunk) : 1;
    const uint64_t elements = least(cut->chunk, cut->extent);
    cut->many = team_of(device, c, elements);
    if (cut->chunks > 1)
        cut->slots = tally_vulkan_place(cut, cut->columns * cut->chunks * tally_vulkan_exact_state_bytes(c));
}

/* Teams are for segments of the mean length. Much longer segments are cut into pieces for whole workgroups. */
static void cut_segments(const tally_vulkan_device *device, const tally_computation *c, const tally_shape *shape,
                         tally_vulkan_cut *cut) {
    const uint64_t units = divide_up(cut->extent, (uint64_t)LEAST_CHUNK * PIECES);
    cut->many = team_of(device, c, cut->extent / most(1, shape->groups));
    cut->chunk = most(1, least(most(1, units) * LEAST_CHUNK, most_together(device, cut->extent)));
    cut->width = (uint32_t)(device->is_software ? (uint64_t)cut->many * MOST_IN_SOFTWARE
                                                : most((uint64_t)cut->many * MOST_EACH, cut->chunk / LONG));
    if (cut->extent <= cut->width)
        return;
    cut->panels = cut->extent / cut->chunk + cut->extent / (cut->width + 1);
    cut->pieces = tally_vulkan_place(cut, cut->panels * PIECE_BYTES);
    cut->slots = tally_vulkan_place(cut, cut->panels * tally_vulkan_exact_state_bytes(c));
}

void tally_vulkan_exact_cut(const tally_vulkan_device *device, const tally_computation *c, const tally_shape *shape,
                            tally_vulkan_cut *cut) {
    const tally_grouping grouping = c->desc.grouping;
    const bool rows = grouping == TALLY_ALL_VALUES || grouping == TALLY_AXIS;
    if ((rows && !cut->columns) || (grouping == TALLY_SEGMENTS && !shape->groups && !shape->extent) ||
        (grouping == TALLY_KEYS && !shape->extent))
        return;
    cut->path = TALLY_VULKAN_EXACTLY;
    if (rows) {
        cut_rows(device, c, cut);
        cut->too_many =
            cut->columns > (uint64_t)TALLY_VULKAN_MOST_GRID * TALLY_VULKAN_MOST_GRID / (cut->chunks ? cut->chunks : 1);
        return;
    }
    cut->control = tally_vulkan_place(cut, sizeof(tally_vulkan_control));
    if (grouping == TALLY_KEYS) {
        cut->chunks = divide_up(cut->extent, key_chunk_of(c));
        cut->ranks = tally_vulkan_place(cut, cut->chunks * sizeof(uint64_t));
    } else {
        cut_segments(device, c, shape, cut);
    }
    const uint64_t groups = grouping == TALLY_KEYS ? cut->chunks : most(shape->groups, cut->panels);
    cut->too_many = groups > (uint64_t)TALLY_VULKAN_MOST_GRID * TALLY_VULKAN_MOST_GRID;
}

/* Chunks add nothing of earlier pieces; their sum does. */
static void launch_rows(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    tally_vulkan_arguments a = tally_vulkan_arguments_of(l);
    a.carry = l->pieces.before ? l->pieces.carry : 0; /* the first piece finds nothing there */
    a.total = l->pieces.total;
    a.slots = cut->chunks > 1 ? l->workspace + cut->slots : 0;
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_EXACT_ROWS], &a,
                          divide_up(cut->columns * cut->chunks, l->plan->device->block / cut->many));
    if (cut->chunks == 1)
        return;
    tally_vulkan_then(l);
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_EXACT_MERGE], &a, cut->columns);
}

static void launch_segments(const tally_vulkan_launch *l, const tally_vulkan_arguments *segments) {
    const tally_vulkan_cut *cut = l->cut;
    const tally_vulkan_device *device = l->plan->device;
    const VkPipeline *k = l->plan->kernels;
    tally_vulkan_arguments a = *segments;
    if (!a.segments)
        return;
    a.pieces = l->workspace + cut->pieces;
    a.slots = l->workspace + cut->slots;
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_EXACT_SEGMENTS], &a, divide_up(a.segments, device->block / cut->many));
    const uint64_t groups = device->is_software ? cut->panels : least(cut->panels, PIECE_GROUPS);
    for (int kernel = TALLY_VULKAN_EXACT_PIECES; kernel <= TALLY_VULKAN_EXACT_JOIN && groups; kernel++) {
        tally_vulkan_then(l);
        tally_vulkan_dispatch(l, k[kernel], &a, groups);
    }
}

static void launch_groups(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    const VkPipeline *k = l->plan->kernels;
    tally_vulkan_arguments a = tally_vulkan_arguments_of(l);
    tally_vulkan_group_arguments(l, &a);
    tally_vulkan_inspect(l, &a);
    if (l->plan->gpu.base.computation.desc.grouping == TALLY_SEGMENTS) {
        launch_segments(l, &a);
    } else {
        a.ranks = l->workspace + cut->ranks;
        tally_vulkan_dispatch(l, k[TALLY_VULKAN_COUNT_HEADS], &a, cut->chunks);
        tally_vulkan_then(l);
        tally_vulkan_dispatch(l, k[TALLY_VULKAN_RANK_HEADS], &a, 1);
        tally_vulkan_then(l);
        tally_vulkan_dispatch(l, k[TALLY_VULKAN_EXACT_RUNS], &a, cut->chunks);
    }
    tally_vulkan_tell(l, &a);
}

void tally_vulkan_exact_launch(const tally_vulkan_launch *l) {
    const tally_grouping grouping = l->plan->gpu.base.computation.desc.grouping;
    if (grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS)
        launch_groups(l);
    else
        launch_rows(l);
}

void tally_vulkan_exact_finish(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               uint64_t columns, uint64_t elements, void *out) {
    const tally_args args = {.out = out};
    const tally_vulkan_cut cut = {.columns = columns, .inner = 1, .chunks = totals ? 1 : 0};
    const tally_vulkan_launch launch = {
        .plan = plan, .args = &args, .cut = &cut, .buffer = buffer, .pieces = {.before = elements}};
    tally_vulkan_arguments a = tally_vulkan_arguments_of(&launch);
    a.slots = totals;
    tally_vulkan_dispatch(&launch, plan->kernels[TALLY_VULKAN_EXACT_MERGE], &a, columns);
}
