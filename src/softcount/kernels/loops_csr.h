/* Sparse rows. */
#include <stdlib.h>

#include "loops_rows.h"

/* in: the table of scores, or the responsibilities; out: the scores, or the counts. */
struct csr_job {
    const struct sparse *x;
    const double *in;
    double *out;
};

/* Counts of a row so far ahead are asked for: rows share words, and adding to the same count again and again waits. */
enum { ROWS_AHEAD = 2 };

/* Room for entries that cannot be used where they lie. */
struct csr_room {
    int32_t positions[LIST_ROOM];
    double values[LIST_ROOM];
};

/* The entries from `start` on of a row that ends at `stop`, at most LIST_ROOM of them. */
static inline struct list list_entries(const struct sparse *x, ptrdiff_t start, ptrdiff_t stop,
                                       ptrdiff_t chunk_stop, struct csr_room *room) {
    struct list list;
    list.n = stop - start < LIST_ROOM ? stop - start : LIST_ROOM;
    list.position = as_columns(x->indices, x->indices_type, start, list.n, room->positions);
    list.n_readable = x->indices_type == I32 ? chunk_stop - start : list.n;
    list.value = x->data ? as_doubles(x->data, x->data_type, start, list.n, room->values) : NULL;
    return list;
}

static inline ptrdiff_t row_start(const struct sparse *x, ptrdiff_t i) {
    return integer_at(x->indptr, x->indptr_type, i);
}

/* The position of the first column number that is out of range. The common case, all in range, is a maximum over
 * unsigned numbers, which needs no branches. */
static ptrdiff_t csr_check(const struct sparse *x) {
    ptrdiff_t start = row_start(x, 0), stop = row_start(x, x->n_rows);
    if (x->indices_type == I32) {
        const uint32_t *column = (const uint32_t *)x->indices, limit = (uint32_t)x->n_features;
        uint32_t largest = 0;
        for (ptrdiff_t p = start; p < stop; p++) largest = column[p] > largest ? column[p] : largest;
        for (ptrdiff_t p = start; largest >= limit && p < stop; p++)
            if (column[p] >= limit) return p;
    } else {
        const uint64_t *column = (const uint64_t *)x->indices;
        for (ptrdiff_t p = start; p < stop; p++)
            if (column[p] >= (uint64_t)x->n_features) return p;
    }
    return ALL_VALID;
}

INLINE void csr_scores_block(const struct csr_job *job, struct block block, const int shape) {
    const struct sparse *x = job->x;
    struct csr_room room;
    struct list list;
    ptrdiff_t chunk_stop = row_start(x, x->n_rows);
    for (ptrdiff_t i = 0; i < x->n_rows; i++)
        for (ptrdiff_t p = row_start(x, i), stop = row_start(x, i + 1); p < stop; p += list.n) {
            list = list_entries(x, p, stop, chunk_stop, &room);
            gather(list, job->in + block.first, block, job->out + i * block.n_classes + block.first, shape);
        }
}
FOR_ALL_SHAPES(csr_scores_block, csr_job)

static void csr_scores(const struct sparse *x, const double *table, ptrdiff_t n_classes, double *out) {
    struct csr_job job = {x, table, out};
    csr_scores_block_all(&job, n_classes);
}

INLINE void csr_accumulate_block(const struct csr_job *job, struct block block, const int shape) {
    const struct sparse *x = job->x;
    struct csr_room room;
    struct list list;
    ptrdiff_t chunk_stop = row_start(x, x->n_rows);
    for (ptrdiff_t i = 0; i < x->n_rows; i++)
        for (ptrdiff_t p = row_start(x, i), stop = row_start(x, i + 1); p < stop; p += list.n) {
            list = list_entries(x, p, stop, chunk_stop, &room);
            scatter(list, job->in + i * block.n_classes + block.first, block, job->out + block.first, shape);
        }
}
FOR_ALL_SHAPES(csr_accumulate_block, csr_job)

static void csr_accumulate(const struct sparse *x, const double *resp, ptrdiff_t n_classes, double *out) {
    struct csr_job job = {x, resp, out};
    csr_accumulate_block_all(&job, n_classes);
}

/* The rows with a class, those of one class together and otherwise in order; NULL when there is no memory for it. */
static int32_t *rows_by_class(const int32_t *class_codes, ptrdiff_t n_rows, ptrdiff_t n_classes, ptrdiff_t *n_known) {
    int32_t *order = (int32_t *)malloc(((size_t)n_rows + 1) * sizeof *order);
    ptrdiff_t *next = (ptrdiff_t *)calloc((size_t)n_classes + 1, sizeof *next);
    if (order && next && n_rows <= INT32_MAX) {
        for (ptrdiff_t i = 0; i < n_rows; i++)
            if (class_codes[i] >= 0) next[class_codes[i] + 1]++;
        for (ptrdiff_t k = 0; k < n_classes; k++) next[k + 1] += next[k];
        *n_known = next[n_classes];
        for (ptrdiff_t i = 0; i < n_rows; i++)
            if (class_codes[i] >= 0) order[next[class_codes[i]]++] = (int32_t)i;
    } else {
        free(order);
        order = NULL;
    }
    free(next);
    return order;
}

/* Ask for the counts that a row, or its first entries, will be added to. */
INLINE void prefetch_counts(const struct sparse *x, ptrdiff_t i, const double *counts, struct csr_room *room) {
    ptrdiff_t start = row_start(x, i), stop = row_start(x, i + 1);
    if (stop - start > LIST_ROOM) stop = start + LIST_ROOM;
    const int32_t *column = as_columns(x->indices, x->indices_type, start, stop - start, room->positions);
    for (ptrdiff_t p = 0; p < stop - start; p++) PREFETCH(counts + column[p]);
}

/* Class after class, because the counts of one class stay in the cache where those of all do not. */
static void csr_class_counts(const struct sparse *x, const int32_t *class_codes, const double *weight,
                             ptrdiff_t n_classes, double *out) {
    struct csr_room room;
    struct list list;
    struct block block = {1, 0, 1};
    ptrdiff_t chunk_stop = row_start(x, x->n_rows), n_known = x->n_rows;
    int32_t *order = rows_by_class(class_codes, x->n_rows, n_classes, &n_known);
    for (ptrdiff_t at = 0; at < n_known; at++) {
        ptrdiff_t i = order ? order[at] : at;
        if (class_codes[i] < 0) continue;
        const double one = 1.0, *row_weight = weight ? weight + i : &one;
        double *counts = out + class_codes[i] * x->n_features;
        if (order && at + ROWS_AHEAD < n_known)
            prefetch_counts(x, order[at + ROWS_AHEAD], out + class_codes[order[at + ROWS_AHEAD]] * x->n_features, &room);
        for (ptrdiff_t p = row_start(x, i), stop = row_start(x, i + 1); p < stop; p += list.n) {
            list = list_entries(x, p, stop, chunk_stop, &room);
            scatter(list, row_weight, block, counts, -1);
        }
    }
    free(order);
}
