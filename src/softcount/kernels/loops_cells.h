/* Where the cells of categorical rows point: each one that is present names one row of a table.
 *
 * Rows are short here and tables small, so the time goes into finding the table rows and into wrong guesses about
 * missing cells. Therefore a whole group of cells is first turned into byte offsets by a loop without branches, and a
 * missing cell gets the offset of a row of zeros, or of a row where nobody looks. */
#ifndef SOFTCOUNT_LOOPS_CELLS_H
#define SOFTCOUNT_LOOPS_CELLS_H

#include "numbers.h"
#include "vectors.h"

#define CELLS_AT_ONCE 512

/* in: the table of scores, or the responsibilities; out: the scores, or the counts. Of each row, the cells first …
 * first + n - 1 are looked at, `step` rows together; `wrong` is the first cell found that is out of range. The level
 * arrays repeat the columns' values for each of these rows. */
struct codes_job {
    const struct dense *codes;
    const double *in;
    double *out;
    ptrdiff_t first, n, step, *wrong;
    int32_t level_start[CELLS_AT_ONCE];
    uint32_t n_levels[CELLS_AT_ONCE];
};

#define COPY_CODES(type, missing)                                                                     \
    do {                                                                                              \
        const type *source = (const type *)codes->cells + start;                                      \
        for (ptrdiff_t j = 0; j < n; j++) room[j] = source[j] == (missing) ? -1 : (int32_t)source[j]; \
    } while (0)

/* The n codes from cell `start` on, -1 standing for missing. */
static const int32_t *as_codes(const struct dense *codes, ptrdiff_t start, ptrdiff_t n, int32_t *room) {
    switch (codes->type) {
    case I8: COPY_CODES(int8_t, -1); break;
    case U8: COPY_CODES(uint8_t, 255); break;
    case I16: COPY_CODES(int16_t, -1); break;
    case I64: /* what does not fit 32 bits is out of range in any case */
        for (ptrdiff_t j = 0; j < n; j++) {
            int64_t code = ((const int64_t *)codes->cells)[start + j];
            room[j] = code < -1 || code > INT32_MAX ? INT32_MAX : (int32_t)code;
        }
        break;
    default: return (const int32_t *)codes->cells + start;
    }
    return room;
}

/* Byte offsets of the table rows (`row_bytes` apart) that the cells of n_rows rows name; `missing` for missing ones. */
static void find_rows(const struct codes_job *job, ptrdiff_t i, ptrdiff_t n_rows, ptrdiff_t row_bytes,
                      ptrdiff_t missing, int64_t *offset) {
    int32_t room[CELLS_AT_ONCE];
    ptrdiff_t start = i * job->codes->n_features + job->first, n = n_rows * job->n;
    const int32_t *code = as_codes(job->codes, start, n, room);
    uint32_t wrong = 0;
    for (ptrdiff_t c = 0; c < n; c++) {
        uint32_t level = (uint32_t)code[c];
        int64_t there = (int64_t)((uint64_t)((uint32_t)job->level_start[c] + level) * (uint64_t)(uint32_t)row_bytes);
        int64_t is_level = -(int64_t)(level < job->n_levels[c]);
        offset[c] = (there & is_level) | (missing & ~is_level);
        wrong |= (level >= job->n_levels[c]) & (level != UINT32_MAX);
    }
    for (ptrdiff_t c = 0; wrong && *job->wrong == ALL_VALID && c < n; c++)
        if ((uint32_t)code[c] >= job->n_levels[c] && code[c] != -1) *job->wrong = start + c;
}

static inline double *at_bytes(const double *base, int64_t offset) {
    return (double *)((uintptr_t)base + (uintptr_t)offset);
}

/* Set the job to the columns from `first` on: their offsets in the table, and their numbers of levels. */
static void select_columns(struct codes_job *job, const int64_t *offsets, ptrdiff_t first) {
    ptrdiff_t d = job->codes->n_features;
    job->first = first;
    job->n = d - first < CELLS_AT_ONCE ? d - first : CELLS_AT_ONCE;
    job->step = job->n == d ? CELLS_AT_ONCE / d : 1;
    for (ptrdiff_t j = 0; j < job->n; j++) {
        job->level_start[j] = (int32_t)offsets[first + j];
        job->n_levels[j] = (uint32_t)(offsets[first + j + 1] - offsets[first + j]);
    }
    for (ptrdiff_t c = job->n; c < job->step * job->n; c++) {
        job->level_start[c] = job->level_start[c - job->n];
        job->n_levels[c] = job->n_levels[c - job->n];
    }
}

#endif
