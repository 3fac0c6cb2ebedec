/* Categorical rows: their scores, and their counts; see loops_cells.h for how table rows are found. */
#include <stdlib.h>

#include "loops_cells.h"
#include "loops_rows.h"

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
