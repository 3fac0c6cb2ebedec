/* The two loops that all counting of sparse, categorical and binary rows comes down to.
 *
 * A table has one row per feature (or level) and one column per class. For a list of positions in it,
 *
 *     gather    adds the listed rows of the table, each times its value, to one output row     (scores)
 *     scatter   adds one input row, times each value, to the listed rows of the table          (expected counts)
 *
 * Both work on a block of at most MAX_VECS * LANES columns, which they hold in registers. A block whose width is not
 * a multiple of LANES ends with a vector that overlaps the one before it: all vectors of a row are loaded before any
 * is stored, so the shared lanes get the same result twice and nothing outside the block is touched. Fewer than
 * LANES columns are handled as single numbers. */
#ifndef SOFTCOUNT_LOOPS_ROWS_H
#define SOFTCOUNT_LOOPS_ROWS_H

#include "numbers.h"
#include "vectors.h"

#define MAX_VECS 8
#define LIST_ROOM 1024 /* entries converted at a time */

struct list {
    const int32_t *position;
    const double *value; /* NULL: every value is 1 */
    ptrdiff_t n;
};

/* `width` columns of a table whose rows are `stride` doubles apart. */
typedef void gather_fn(struct list list, const double *table, ptrdiff_t stride, ptrdiff_t width, double *out);
typedef void scatter_fn(struct list list, const double *row, ptrdiff_t stride, ptrdiff_t width, double *table);

/* Where vector v of a block begins; the last one ends where the block ends. */
#define VEC_AT(v) ((v) == n_vecs - 1 ? width - LANES : (v) * LANES)

/* `ways` partial sums keep the adders busy when a row is only one or two vectors wide. A value of zero is skipped,
 * because zero times a log-probability of -inf has to be zero. */
INLINE void gather_vecs(struct list list, const double *table, ptrdiff_t stride, ptrdiff_t width, double *out,
                        const int n_vecs, const int ways, const int weighted) {
    vec sum[MAX_VECS];
    UNROLL
    for (int a = 0; a < ways * n_vecs; a++) sum[a] = splat(0.0);
    ptrdiff_t p = 0;
    for (; p + ways <= list.n; p += ways) {
        UNROLL
        for (int way = 0; way < ways; way++) {
            const double *row = table + list.position[p + way] * stride;
            if (weighted) {
                double x = list.value[p + way];
                if (x == 0.0) continue;
                UNROLL
                for (int v = 0; v < n_vecs; v++) sum[way * n_vecs + v] += splat(x) * load(row + VEC_AT(v));
            } else {
                UNROLL
                for (int v = 0; v < n_vecs; v++) sum[way * n_vecs + v] += load(row + VEC_AT(v));
            }
        }
    }
    for (; p < list.n; p++) {
        const double *row = table + list.position[p] * stride;
        double x = weighted ? list.value[p] : 1.0;
        if (weighted && x == 0.0) continue;
        UNROLL
        for (int v = 0; v < n_vecs; v++) sum[v] += weighted ? splat(x) * load(row + VEC_AT(v)) : load(row + VEC_AT(v));
    }
    UNROLL
    for (int a = n_vecs; a < ways * n_vecs; a++) sum[a % n_vecs] += sum[a];
    UNROLL
    for (int v = 0; v < n_vecs; v++) sum[v] += load(out + VEC_AT(v));
    UNROLL
    for (int v = 0; v < n_vecs; v++) store(out + VEC_AT(v), sum[v]);
}

INLINE void scatter_vecs(struct list list, const double *row, ptrdiff_t stride, ptrdiff_t width, double *table,
                         const int n_vecs) {
    vec added[MAX_VECS], cell[MAX_VECS];
    UNROLL
    for (int v = 0; v < n_vecs; v++) added[v] = load(row + VEC_AT(v));
    for (ptrdiff_t p = 0; p < list.n; p++) {
        double *to = table + list.position[p] * stride;
        double x = list.value ? list.value[p] : 1.0;
        UNROLL
        for (int v = 0; v < n_vecs; v++) cell[v] = load(to + VEC_AT(v)) + splat(x) * added[v];
        UNROLL
        for (int v = 0; v < n_vecs; v++) store(to + VEC_AT(v), cell[v]);
    }
}

/* Fewer columns than LANES. */
INLINE void gather_narrow(struct list list, const double *table, ptrdiff_t stride, double *out, const int width) {
    enum { WAYS = 4 };
    double sum[WAYS * 3] = {0.0};
    ptrdiff_t p = 0;
    for (; p + WAYS <= list.n; p += WAYS) {
        UNROLL
        for (int way = 0; way < WAYS; way++) {
            const double *row = table + list.position[p + way] * stride;
            double x = list.value ? list.value[p + way] : 1.0;
            if (x == 0.0) continue;
            UNROLL
            for (int k = 0; k < width; k++) sum[way * width + k] += x * row[k];
        }
    }
    for (; p < list.n; p++) {
        const double *row = table + list.position[p] * stride;
        double x = list.value ? list.value[p] : 1.0;
        if (x == 0.0) continue;
        UNROLL
        for (int k = 0; k < width; k++) sum[k] += x * row[k];
    }
    UNROLL
    for (int a = width; a < WAYS * width; a++) sum[a % width] += sum[a];
    UNROLL
    for (int k = 0; k < width; k++) out[k] += sum[k];
}

INLINE void scatter_narrow(struct list list, const double *row, ptrdiff_t stride, double *table, const int width) {
    for (ptrdiff_t p = 0; p < list.n; p++) {
        double *to = table + list.position[p] * stride;
        double x = list.value ? list.value[p] : 1.0;
        UNROLL
        for (int k = 0; k < width; k++) to[k] += x * row[k];
    }
}

/* One pair of functions for each number of vectors, and for each width below LANES. */
#define FOR_VECS(n, ways)                                                                                          \
    static void gather_##n(struct list l, const double *t, ptrdiff_t stride, ptrdiff_t width, double *out) {       \
        gather_vecs(l, t, stride, width, out, n, ways, 0);                                                         \
    }                                                                                                              \
    static void gather_weighted_##n(struct list l, const double *t, ptrdiff_t stride, ptrdiff_t width,             \
                                    double *out) {                                                                 \
        gather_vecs(l, t, stride, width, out, n, ways, 1);                                                         \
    }                                                                                                              \
    static void scatter_##n(struct list l, const double *row, ptrdiff_t stride, ptrdiff_t width, double *t) {      \
        scatter_vecs(l, row, stride, width, t, n);                                                                 \
    }
FOR_VECS(1, 4) FOR_VECS(2, 4) FOR_VECS(3, 2) FOR_VECS(4, 2) FOR_VECS(5, 1) FOR_VECS(6, 1) FOR_VECS(7, 1) FOR_VECS(8, 1)

#define FOR_WIDTH(n)                                                                                               \
    static void gather_narrow_##n(struct list l, const double *t, ptrdiff_t stride, ptrdiff_t width, double *out) { \
        (void)width;                                                                                               \
        gather_narrow(l, t, stride, out, n);                                                                       \
    }                                                                                                              \
    static void scatter_narrow_##n(struct list l, const double *row, ptrdiff_t stride, ptrdiff_t width, double *t) { \
        (void)width;                                                                                               \
        scatter_narrow(l, row, stride, t, n);                                                                      \
    }
FOR_WIDTH(1) FOR_WIDTH(2) FOR_WIDTH(3)

static gather_fn *const gather_by_vecs[] = {0,        gather_1, gather_2, gather_3, gather_4,
                                            gather_5, gather_6, gather_7, gather_8};
static gather_fn *const gather_weighted_by_vecs[] = {
    0,                 gather_weighted_1, gather_weighted_2, gather_weighted_3, gather_weighted_4,
    gather_weighted_5, gather_weighted_6, gather_weighted_7, gather_weighted_8};
static scatter_fn *const scatter_by_vecs[] = {0,         scatter_1, scatter_2, scatter_3, scatter_4,
                                              scatter_5, scatter_6, scatter_7, scatter_8};
static gather_fn *const gather_by_width[] = {0, gather_narrow_1, gather_narrow_2, gather_narrow_3};
static scatter_fn *const scatter_by_width[] = {0, scatter_narrow_1, scatter_narrow_2, scatter_narrow_3};

/* The classes, cut into blocks of nearly equal width. */
struct block {
    ptrdiff_t first, width;
    gather_fn *gather, *gather_weighted;
    scatter_fn *scatter;
};

static ptrdiff_t count_blocks(ptrdiff_t n_classes) {
    return (n_classes + MAX_VECS * LANES - 1) / (MAX_VECS * LANES);
}

static struct block block_at(ptrdiff_t n_classes, ptrdiff_t b) {
    ptrdiff_t n_blocks = count_blocks(n_classes), least = n_classes / n_blocks, longer = n_classes % n_blocks;
    struct block block;
    block.width = least + (b < longer);
    block.first = b * least + (b < longer ? b : longer);
    if (block.width < LANES) {
        block.gather = block.gather_weighted = gather_by_width[block.width];
        block.scatter = scatter_by_width[block.width];
    } else {
        ptrdiff_t n_vecs = (block.width + LANES - 1) / LANES;
        block.gather = gather_by_vecs[n_vecs];
        block.gather_weighted = gather_weighted_by_vecs[n_vecs];
        block.scatter = scatter_by_vecs[n_vecs];
    }
    return block;
}

#endif
