/* Categorical rows: each cell that is present names one row of the table. */
#include "loops_rows.h"

/* in: the table of scores, or the responsibilities; out: the scores, or the counts. The cells first … first + n - 1
 * of each row are looked at; `wrong` is the first one in them that is out of range. */
struct codes_job {
    const struct dense *codes;
    const double *in;
    double *out;
    ptrdiff_t first, n, *wrong;
    int32_t level_start[LIST_ROOM], n_levels[LIST_ROOM];
};

#define COPY_CODES(type, missing)                                                                     \
    do {                                                                                              \
        const type *source = (const type *)codes->cells + start;                                      \
        for (ptrdiff_t j = 0; j < n; j++) room[j] = source[j] == (missing) ? -1 : (int32_t)source[j]; \
    } while (0)

/* The n codes from cell `start` on, -1 standing for missing. */
static inline const int32_t *as_codes(const struct dense *codes, ptrdiff_t start, ptrdiff_t n, int32_t *room) {
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

/* List the table rows of row i's cells. A missing cell is overwritten by the next present one instead of being jumped
 * over: where cells are missing at random, the processor cannot predict the jump. An empty list is the answer to a
 * wrong code. */
static inline struct list list_levels(const struct codes_job *job, ptrdiff_t i, int32_t *positions) {
    int32_t room[LIST_ROOM];
    ptrdiff_t start = i * job->codes->n_features + job->first, n = job->n, present = 0;
    const int32_t *code = as_codes(job->codes, start, n, room);
    int wrong = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        wrong |= (code[j] < -1) | (code[j] >= job->n_levels[j]);
        positions[present] = job->level_start[j] + code[j];
        present += code[j] >= 0;
    }
    for (ptrdiff_t j = 0; wrong && j < n; j++)
        if (*job->wrong == ALL_VALID && (code[j] < -1 || code[j] >= job->n_levels[j])) *job->wrong = start + j;
    struct list list = {positions, NULL, wrong ? 0 : present, wrong ? 0 : present};
    return list;
}

INLINE void codes_scores_block(const struct codes_job *job, struct block block, const int shape) {
    int32_t positions[LIST_ROOM];
    for (ptrdiff_t i = 0; i < job->codes->n_rows; i++) {
        struct list list = list_levels(job, i, positions);
        gather(list, job->in + block.first, block, job->out + i * block.n_classes + block.first, shape);
    }
}
FOR_ALL_SHAPES(codes_scores_block, codes_job)

INLINE void codes_accumulate_block(const struct codes_job *job, struct block block, const int shape) {
    int32_t positions[LIST_ROOM];
    for (ptrdiff_t i = 0; i < job->codes->n_rows; i++) {
        struct list list = list_levels(job, i, positions);
        scatter(list, job->in + i * block.n_classes + block.first, block, job->out + block.first, shape);
    }
}
FOR_ALL_SHAPES(codes_accumulate_block, codes_job)

/* Set the job to the columns from `first` on: their offsets in the table, and their numbers of levels. */
static void select_columns(struct codes_job *job, const int64_t *offsets, ptrdiff_t first) {
    job->first = first;
    job->n = job->codes->n_features - first < LIST_ROOM ? job->codes->n_features - first : LIST_ROOM;
    for (ptrdiff_t j = 0; j < job->n; j++) {
        job->level_start[j] = (int32_t)offsets[first + j];
        job->n_levels[j] = (int32_t)(offsets[first + j + 1] - offsets[first + j]);
    }
}

static ptrdiff_t codes_scores(const struct dense *codes, const int64_t *offsets, const double *table,
                              ptrdiff_t n_classes, double *out) {
    ptrdiff_t wrong = ALL_VALID;
    struct codes_job job = {.codes = codes, .in = table, .out = out, .wrong = &wrong};
    for (ptrdiff_t j = 0; wrong == ALL_VALID && j < codes->n_features; j += LIST_ROOM) {
        select_columns(&job, offsets, j);
        codes_scores_block_all(&job, n_classes);
    }
    return wrong;
}

static ptrdiff_t codes_accumulate(const struct dense *codes, const int64_t *offsets, const double *resp,
                                  ptrdiff_t n_classes, double *out) {
    ptrdiff_t wrong = ALL_VALID;
    struct codes_job job = {.codes = codes, .in = resp, .out = out, .wrong = &wrong};
    for (ptrdiff_t j = 0; wrong == ALL_VALID && j < codes->n_features; j += LIST_ROOM) {
        select_columns(&job, offsets, j);
        codes_accumulate_block_all(&job, n_classes);
    }
    return wrong;
}

static ptrdiff_t codes_class_counts(const struct dense *codes, const int64_t *offsets, const int32_t *class_codes,
                                    const double *weight, ptrdiff_t n_classes, double *out) {
    ptrdiff_t wrong = ALL_VALID;
    int32_t positions[LIST_ROOM];
    struct codes_job job = {.codes = codes, .out = out, .wrong = &wrong};
    for (ptrdiff_t j = 0; wrong == ALL_VALID && j < codes->n_features; j += LIST_ROOM) {
        select_columns(&job, offsets, j);
        for (ptrdiff_t i = 0; i < codes->n_rows; i++) {
            struct list list = list_levels(&job, i, positions);
            struct block block = {n_classes, class_codes[i], 1};
            const double one = 1.0, *row_weight = weight ? weight + i : &one;
            if (class_codes[i] >= 0) scatter(list, row_weight, block, out + block.first, -1);
        }
    }
    return wrong;
}
