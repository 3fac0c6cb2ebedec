/* The two loops that all counting of sparse, categorical and binary rows comes down to.
 *
 * A table has one row per feature (or level) and one column per class. For a list of positions in it,
 *
 *     gather    adds the listed rows of the table, each times its value, to one output row     (scores)
 *     scatter   adds one input row, times each value, to the listed rows of the table          (expected counts)
 *
 * The classes are cut into blocks that fit into registers. How many vectors a block takes is its `shape`; every
 * kernel is compiled once for each shape (FOR_ALL_SHAPES), because only with a constant number of vectors does the
 * compiler keep them in registers. A block whose width is not a multiple of LANES ends with a vector that overlaps
 * the one before it: all vectors of a row are loaded before any is stored, so the shared lanes get the same result
 * twice and nothing outside the block is touched. Fewer than LANES columns are handled as single numbers; such a
 * block of n columns has the shape -n. */
#ifndef SOFTCOUNT_LOOPS_ROWS_H
#define SOFTCOUNT_LOOPS_ROWS_H

#include "numbers.h"
#include "vectors.h"

#define MAX_VECS 8
#define LIST_ROOM 1024 /* entries of a list; also because long sums made of short ones lose fewer digits */

/* Table rows further ahead than this are asked for before they are needed, as far as the list can be read. */
#define PREFETCH_AHEAD 16
#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

struct list {
    const int32_t *position;
    const double *value; /* NULL: every value is 1 */
    ptrdiff_t n, n_readable;
};

/* Columns first … first + width - 1 of tables whose rows are n_classes doubles long. */
struct block {
    ptrdiff_t n_classes, first, width;
};

/* Where vector v of a block begins; the last one ends where the block ends. */
#define VEC_AT(v) ((v) == shape - 1 ? width - LANES : (v) * LANES)

/* Rows of up to two vectors are short enough to be fetched in time by the processor itself. */
INLINE void prefetch_row(struct list list, ptrdiff_t p, const double *table, ptrdiff_t stride, const int shape) {
    if (shape <= 2) return;
    ptrdiff_t ahead = p + PREFETCH_AHEAD < list.n_readable ? p + PREFETCH_AHEAD : list.n_readable - 1;
    const double *row = table + list.position[ahead] * stride;
    UNROLL
    for (int line = 0; line < shape * (int)LANES; line += 8) PREFETCH(row + line);
}

/* `ways` partial sums keep the adders busy when a row is only one or two vectors wide. A value of zero is skipped,
 * because zero times a log-probability of -inf has to be zero. */
INLINE void gather_vecs(struct list list, const double *table, ptrdiff_t stride, ptrdiff_t width, double *out,
                        const int shape, const int ways, const int weighted) {
    vec sum[MAX_VECS];
    UNROLL
    for (int a = 0; a < ways * shape; a++) sum[a] = splat(0.0);
    ptrdiff_t p = 0;
    for (; p + ways <= list.n; p += ways) {
        UNROLL
        for (int way = 0; way < ways; way++) {
            const double *row = table + list.position[p + way] * stride;
            prefetch_row(list, p + way, table, stride, shape);
            double x = weighted ? list.value[p + way] : 1.0;
            if (weighted && x == 0.0) continue;
            UNROLL
            for (int v = 0; v < shape; v++)
                sum[way * shape + v] += weighted ? splat(x) * load(row + VEC_AT(v)) : load(row + VEC_AT(v));
        }
    }
    for (; p < list.n; p++) {
        const double *row = table + list.position[p] * stride;
        double x = weighted ? list.value[p] : 1.0;
        if (weighted && x == 0.0) continue;
        UNROLL
        for (int v = 0; v < shape; v++) sum[v] += weighted ? splat(x) * load(row + VEC_AT(v)) : load(row + VEC_AT(v));
    }
    UNROLL
    for (int a = shape; a < ways * shape; a++) sum[a % shape] += sum[a];
    UNROLL
    for (int v = 0; v < shape; v++) sum[v] += load(out + VEC_AT(v));
    UNROLL
    for (int v = 0; v < shape; v++) store(out + VEC_AT(v), sum[v]);
}

INLINE void scatter_vecs(struct list list, const double *row, ptrdiff_t stride, ptrdiff_t width, double *table,
                         const int shape, const int weighted) {
    vec added[MAX_VECS], cell[MAX_VECS];
    UNROLL
    for (int v = 0; v < shape; v++) added[v] = load(row + VEC_AT(v));
    for (ptrdiff_t p = 0; p < list.n; p++) {
        double *to = table + list.position[p] * stride;
        prefetch_row(list, p, table, stride, shape);
        double x = weighted ? list.value[p] : 1.0;
        UNROLL
        for (int v = 0; v < shape; v++)
            cell[v] = load(to + VEC_AT(v)) + (weighted ? splat(x) * added[v] : added[v]);
        UNROLL
        for (int v = 0; v < shape; v++) store(to + VEC_AT(v), cell[v]);
    }
}

/* Fewer columns than LANES. */
INLINE void gather_narrow(struct list list, const double *table, ptrdiff_t stride, double *out, const int width,
                          const int weighted) {
    enum { WAYS = 4 };
    double sum[WAYS * 3] = {0.0};
    ptrdiff_t p = 0;
    for (; p + WAYS <= list.n; p += WAYS) {
        UNROLL
        for (int way = 0; way < WAYS; way++) {
            const double *row = table + list.position[p + way] * stride;
            double x = weighted ? list.value[p + way] : 1.0;
            if (weighted && x == 0.0) continue;
            UNROLL
            for (int k = 0; k < width; k++) sum[way * width + k] += weighted ? x * row[k] : row[k];
        }
    }
    for (; p < list.n; p++) {
        const double *row = table + list.position[p] * stride;
        double x = weighted ? list.value[p] : 1.0;
        if (weighted && x == 0.0) continue;
        UNROLL
        for (int k = 0; k < width; k++) sum[k] += weighted ? x * row[k] : row[k];
    }
    UNROLL
    for (int a = width; a < WAYS * width; a++) sum[a % width] += sum[a];
    UNROLL
    for (int k = 0; k < width; k++) out[k] += sum[k];
}

INLINE void scatter_narrow(struct list list, const double *row, ptrdiff_t stride, double *table, const int width,
                           const int weighted) {
    double added[3];
    for (int k = 0; k < width; k++) added[k] = row[k];
    for (ptrdiff_t p = 0; p < list.n; p++) {
        double *to = table + list.position[p] * stride;
        double x = weighted ? list.value[p] : 1.0;
        UNROLL
        for (int k = 0; k < width; k++) to[k] += weighted ? x * added[k] : added[k];
    }
}

/* `table` and `out` (or `row`) begin at the block's first column. */
INLINE void gather(struct list list, const double *table, struct block block, double *out, const int shape) {
    const ptrdiff_t stride = block.n_classes, width = block.width;
    const int ways = shape <= 2 ? 4 : shape <= 4 ? 2 : 1;
    if (shape < 0 && list.value) gather_narrow(list, table, stride, out, -shape, 1);
    else if (shape < 0) gather_narrow(list, table, stride, out, -shape, 0);
    else if (list.value) gather_vecs(list, table, stride, width, out, shape, ways, 1);
    else gather_vecs(list, table, stride, width, out, shape, ways, 0);
}

INLINE void scatter(struct list list, const double *row, struct block block, double *table, const int shape) {
    const ptrdiff_t stride = block.n_classes, width = block.width;
    if (shape < 0 && list.value) scatter_narrow(list, row, stride, table, -shape, 1);
    else if (shape < 0) scatter_narrow(list, row, stride, table, -shape, 0);
    else if (list.value) scatter_vecs(list, row, stride, width, table, shape, 1);
    else scatter_vecs(list, row, stride, width, table, shape, 0);
}

/* Compile `kernel(const struct KIND *job, struct block block, const int shape)` for all shapes, and define
 * kernel_all(job, n_classes), which runs it on one block of classes after the other. */
#define WITH_SHAPE(kernel, kind, name, shape) \
    static void kernel##_##name(const struct kind *job, struct block block) { kernel(job, block, shape); }

#define FOR_ALL_SHAPES(kernel, kind)                                                                               \
    WITH_SHAPE(kernel, kind, narrow_3, -3)                                                                         \
    WITH_SHAPE(kernel, kind, narrow_2, -2)                                                                         \
    WITH_SHAPE(kernel, kind, narrow_1, -1)                                                                         \
    WITH_SHAPE(kernel, kind, 1, 1)                                                                                 \
    WITH_SHAPE(kernel, kind, 2, 2)                                                                                 \
    WITH_SHAPE(kernel, kind, 3, 3)                                                                                 \
    WITH_SHAPE(kernel, kind, 4, 4)                                                                                 \
    WITH_SHAPE(kernel, kind, 5, 5)                                                                                 \
    WITH_SHAPE(kernel, kind, 6, 6)                                                                                 \
    WITH_SHAPE(kernel, kind, 7, 7)                                                                                 \
    WITH_SHAPE(kernel, kind, 8, 8)                                                                                 \
    static void kernel##_all(const struct kind *job, ptrdiff_t n_classes) {                                        \
        static void (*const by_shape[])(const struct kind *, struct block) = {                                     \
            kernel##_narrow_3, kernel##_narrow_2, kernel##_narrow_1, NULL, kernel##_1, kernel##_2,                 \
            kernel##_3, kernel##_4, kernel##_5, kernel##_6, kernel##_7, kernel##_8};                               \
        for (ptrdiff_t b = 0; b < count_blocks(n_classes); b++) {                                                  \
            struct block block = block_at(n_classes, b);                                                           \
            by_shape[3 + shape_of(block)](job, block);                                                             \
        }                                                                                                          \
    }

static ptrdiff_t count_blocks(ptrdiff_t n_classes) {
    return (n_classes + MAX_VECS * LANES - 1) / (MAX_VECS * LANES);
}

/* The classes are cut into blocks of nearly equal width. */
static struct block block_at(ptrdiff_t n_classes, ptrdiff_t b) {
    ptrdiff_t n_blocks = count_blocks(n_classes), least = n_classes / n_blocks, longer = n_classes % n_blocks;
    struct block block = {n_classes, b * least + (b < longer ? b : longer), least + (b < longer)};
    return block;
}

static ptrdiff_t shape_of(struct block block) {
    return block.width < LANES ? -block.width : (block.width + LANES - 1) / LANES;
}

#endif
