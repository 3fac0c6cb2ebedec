/* Sparse rows. */
#include "loops_rows.h"

/* The next entries of a row as a list, read where they lie or converted into the given room. At most LIST_ROOM at a
 * time, also because long sums made of short ones lose fewer digits. */
static struct list list_entries(const struct sparse *x, ptrdiff_t start, ptrdiff_t stop, int32_t *position_room,
                                double *value_room) {
    struct list list;
    list.n = stop - start < LIST_ROOM ? stop - start : LIST_ROOM;
    list.position = as_columns(x->indices, x->indices_type, start, list.n, position_room);
    list.value = x->data ? as_doubles(x->data, x->data_type, start, list.n, value_room) : NULL;
    return list;
}

static ptrdiff_t row_start(const struct sparse *x, ptrdiff_t i) { return integer_at(x->indptr, x->indptr_type, i); }

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

static void csr_scores(const struct sparse *x, const double *table, ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    double values[LIST_ROOM];
    for (ptrdiff_t b = 0; b < count_blocks(n_classes); b++) {
        struct block block = block_at(n_classes, b);
        gather_fn *gather = x->data ? block.gather_weighted : block.gather;
        for (ptrdiff_t i = 0; i < x->n_rows; i++) {
            struct list list;
            for (ptrdiff_t p = row_start(x, i), stop = row_start(x, i + 1); p < stop; p += list.n) {
                list = list_entries(x, p, stop, positions, values);
                gather(list, table + block.first, n_classes, block.width, out + i * n_classes + block.first);
            }
        }
    }
}

static void csr_accumulate(const struct sparse *x, const double *resp, ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    double values[LIST_ROOM];
    for (ptrdiff_t b = 0; b < count_blocks(n_classes); b++) {
        struct block block = block_at(n_classes, b);
        for (ptrdiff_t i = 0; i < x->n_rows; i++) {
            struct list list;
            for (ptrdiff_t p = row_start(x, i), stop = row_start(x, i + 1); p < stop; p += list.n) {
                list = list_entries(x, p, stop, positions, values);
                block.scatter(list, resp + i * n_classes + block.first, n_classes, block.width, out + block.first);
            }
        }
    }
}

static void csr_class_counts(const struct sparse *x, const int32_t *class_codes, const double *weight,
                             ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    double values[LIST_ROOM];
    for (ptrdiff_t i = 0; i < x->n_rows; i++) {
        if (class_codes[i] < 0) continue;
        const double one = 1.0, *row = weight ? weight + i : &one;
        struct list list;
        for (ptrdiff_t p = row_start(x, i), stop = row_start(x, i + 1); p < stop; p += list.n) {
            list = list_entries(x, p, stop, positions, values);
            scatter_narrow(list, row, n_classes, out + class_codes[i], 1);
        }
    }
}

/* Whether every position in the index is one that resp and out have. */
static int words_check(const struct words *index, ptrdiff_t n_entries, ptrdiff_t n_features) {
    uint16_t largest = 0;
    for (ptrdiff_t p = 0; p < n_entries; p++) largest = index->rows[p] > largest ? index->rows[p] : largest;
    int fits = (n_entries == 0 || largest < index->n_rows) && index->starts[0] == 0;
    for (ptrdiff_t w = 0; w < index->n_words; w++)
        fits &= (index->words[w] >= 0) & (index->words[w] < n_features) & (index->starts[w] <= index->starts[w + 1]);
    return fits && index->starts[index->n_words] == n_entries;
}

/* Going word by word reads the responsibilities of one chunk, which stay in the cache, and writes each row of counts
 * once, where going row by row would read and write a row of counts for every non-zero. */
static void words_accumulate(const struct words *index, const double *resp, ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    double values[LIST_ROOM];
    for (ptrdiff_t b = 0; b < count_blocks(n_classes); b++) {
        struct block block = block_at(n_classes, b);
        gather_fn *gather = index->counts ? block.gather_weighted : block.gather;
        for (ptrdiff_t w = 0; w < index->n_words; w++) {
            double *to = out + index->words[w] * n_classes + block.first;
            struct list list;
            for (ptrdiff_t p = index->starts[w], stop = index->starts[w + 1]; p < stop; p += list.n) {
                list.n = stop - p < LIST_ROOM ? stop - p : LIST_ROOM;
                for (ptrdiff_t e = 0; e < list.n; e++) positions[e] = index->rows[p + e];
                list.position = positions;
                list.value = index->counts ? as_doubles(index->counts, U8, p, list.n, values) : NULL;
                gather(list, resp + block.first, n_classes, block.width, to);
            }
        }
    }
}
