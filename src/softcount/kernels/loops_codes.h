/* Categorical rows: each cell that is present names one row of the table.
 *
 * Rows are short here and tables small, so the time goes into finding the table rows and into wrong guesses about
 * missing cells. Therefore a whole group of cells is first turned into byte offsets by a loop without branches, and a
 * missing cell gets the offset of a row of zeros, or of a row where nobody looks. */
#include <stdlib.h>

#include "loops_rows.h"

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

INLINE void sum_levels(const double *table, const int64_t *offset, ptrdiff_t n, ptrdiff_t width, double *out,
                       const int shape) {
    if (shape < 0) {
        double sum[3] = {0.0};
        for (ptrdiff_t j = 0; j < n; j++) {
            UNROLL
            for (int k = 0; k < -shape; k++) sum[k] += at_bytes(table, offset[j])[k];
        }
        UNROLL
        for (int k = 0; k < -shape; k++) out[k] += sum[k];
        return;
    }
    vec sum[MAX_VECS];
    UNROLL
    for (int v = 0; v < shape; v++) sum[v] = load(out + VEC_AT(v));
    for (ptrdiff_t j = 0; j < n; j++) {
        UNROLL
        for (int v = 0; v < shape; v++) sum[v] += load(at_bytes(table, offset[j]) + VEC_AT(v));
    }
    UNROLL
    for (int v = 0; v < shape; v++) store(out + VEC_AT(v), sum[v]);
}

INLINE void codes_scores_block(const struct codes_job *job, struct block block, const int shape) {
    const double zeros[MAX_VECS * VECTOR_BYTES / 8] = {0.0}, *table = job->in + block.first;
    int64_t offset[CELLS_AT_ONCE], missing = (int64_t)((uintptr_t)zeros - (uintptr_t)table);
    ptrdiff_t n_classes = block.n_classes, n_rows = job->codes->n_rows;
    for (ptrdiff_t i = 0; i < n_rows; i += job->step) {
        ptrdiff_t step = n_rows - i < job->step ? n_rows - i : job->step;
        find_rows(job, i, step, n_classes * 8, missing, offset);
        for (ptrdiff_t r = 0; r < step; r++)
            sum_levels(table, offset + r * job->n, job->n, block.width, job->out + (i + r) * n_classes + block.first,
                       shape);
    }
}
FOR_ALL_SHAPES(codes_scores_block, codes_job)

/* Vector v of the responsibilities goes to the columns v * spacing … of the counts, the last one to `last`. */
INLINE void count_levels(double *counts, const int64_t *offset, ptrdiff_t n, ptrdiff_t width, const double *resp,
                         ptrdiff_t last, const int shape) {
    if (shape < 0) {
        double added[3];
        UNROLL
        for (int k = 0; k < -shape; k++) added[k] = resp[k];
        for (ptrdiff_t j = 0; j < n; j++) {
            UNROLL
            for (int k = 0; k < -shape; k++) at_bytes(counts, offset[j])[k] += added[k];
        }
        return;
    }
    vec added[MAX_VECS], cell[MAX_VECS];
    UNROLL
    for (int v = 0; v < shape; v++) added[v] = load(resp + VEC_AT(v));
    for (ptrdiff_t j = 0; j < n; j++) {
        double *to = at_bytes(counts, offset[j]);
        UNROLL
        for (int v = 0; v < shape; v++) cell[v] = load(to + (v == shape - 1 ? last : v * LANES)) + added[v];
        UNROLL
        for (int v = 0; v < shape; v++) store(to + (v == shape - 1 ? last : v * LANES), cell[v]);
    }
}

/* Counting adds to the same few rows all the time, and waits where a vector is loaded from what two overlapping ones
 * have just stored. So where it pays, the counts are first made in rows of whole vectors. */
INLINE void codes_accumulate_block(const struct codes_job *job, struct block block, const int shape) {
    const ptrdiff_t n_classes = block.n_classes, n_rows = job->codes->n_rows, padded = shape * LANES;
    const ptrdiff_t first_level = job->level_start[0], n_levels = job->level_start[job->n - 1] +
                                                                  (ptrdiff_t)job->n_levels[job->n - 1] - first_level;
    double nowhere[MAX_VECS * VECTOR_BYTES / 8] = {0.0};
    int64_t offset[CELLS_AT_ONCE];
    double *apart = NULL;
    if (shape > 0 && n_levels < n_rows) apart = (double *)calloc((size_t)(n_levels * padded), sizeof *apart);
    /* Level l of the table is row l - first_level of these counts. */
    double *counts = apart ? at_bytes(apart, -first_level * padded * 8) : job->out + block.first;
    ptrdiff_t row_length = apart ? padded : n_classes, last = apart ? padded - LANES : block.width - LANES;
    int64_t missing = (int64_t)((uintptr_t)nowhere - (uintptr_t)counts);
    for (ptrdiff_t i = 0; i < n_rows; i += job->step) {
        ptrdiff_t step = n_rows - i < job->step ? n_rows - i : job->step;
        find_rows(job, i, step, row_length * 8, missing, offset);
        for (ptrdiff_t r = 0; r < step; r++)
            count_levels(counts, offset + r * job->n, job->n, block.width,
                         job->in + (i + r) * n_classes + block.first, last, shape);
    }
    for (ptrdiff_t l = 0; apart && l < n_levels; l++)
        for (ptrdiff_t k = 0; k < block.width; k++) {
            ptrdiff_t in_last = k - (block.width - LANES);
            job->out[(first_level + l) * n_classes + block.first + k] +=
                apart[l * padded + (in_last >= 0 ? last + in_last : k)];
        }
    free(apart);
}
FOR_ALL_SHAPES(codes_accumulate_block, codes_job)

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

static ptrdiff_t codes_scores(const struct dense *codes, const int64_t *offsets, const double *table,
                              ptrdiff_t n_classes, double *out) {
    ptrdiff_t wrong = ALL_VALID;
    struct codes_job job = {.codes = codes, .in = table, .out = out, .wrong = &wrong};
    for (ptrdiff_t j = 0; wrong == ALL_VALID && j < codes->n_features; j += CELLS_AT_ONCE) {
        select_columns(&job, offsets, j);
        codes_scores_block_all(&job, n_classes);
    }
    return wrong;
}

static ptrdiff_t codes_accumulate(const struct dense *codes, const int64_t *offsets, const double *resp,
                                  ptrdiff_t n_classes, double *out) {
    ptrdiff_t wrong = ALL_VALID;
    struct codes_job job = {.codes = codes, .in = resp, .out = out, .wrong = &wrong};
    for (ptrdiff_t j = 0; wrong == ALL_VALID && j < codes->n_features; j += CELLS_AT_ONCE) {
        select_columns(&job, offsets, j);
        codes_accumulate_block_all(&job, n_classes);
    }
    return wrong;
}

static ptrdiff_t codes_class_counts(const struct dense *codes, const int64_t *offsets, const int32_t *class_codes,
                                    const double *weight, ptrdiff_t n_classes, double *out) {
    ptrdiff_t wrong = ALL_VALID;
    double nowhere = 0.0;
    int64_t offset[CELLS_AT_ONCE];
    struct codes_job job = {.codes = codes, .out = out, .wrong = &wrong};
    for (ptrdiff_t j = 0; wrong == ALL_VALID && j < codes->n_features; j += CELLS_AT_ONCE) {
        select_columns(&job, offsets, j);
        for (ptrdiff_t i = 0; i < codes->n_rows; i += job.step) {
            ptrdiff_t step = codes->n_rows - i < job.step ? codes->n_rows - i : job.step;
            for (ptrdiff_t r = 0; r < step; r++) {
                double *counts = out + (class_codes[i + r] < 0 ? 0 : class_codes[i + r]);
                double row_weight = class_codes[i + r] < 0 ? 0.0 : weight ? weight[i + r] : 1.0;
                find_rows(&job, i + r, 1, n_classes * 8, (int64_t)((uintptr_t)&nowhere - (uintptr_t)counts), offset);
                count_levels(counts, offset, job.n, 1, &row_weight, 0, -1);
            }
        }
    }
    return wrong;
}
