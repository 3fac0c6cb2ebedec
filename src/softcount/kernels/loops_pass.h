/* One pass of EM over categorical rows, for one or several runs of it: what codes_scores, normalize_rows and
 * codes_accumulate do one after the other, while a few rows are in the first-level cache.
 *
 * A row has few cells, so the probability of its answers in a class is a product that stays far from underflow:
 *
 *     p_ik = pi_k prod_j theta[j, x_ij, k],   r_ik = w_i p_ik / sum_l p_il,   log-likelihood = sum_i w_i log(sum_k p_ik)
 *
 * Only the tables are exponentiated, not the rows. A row whose probability in all classes together is small all the
 * same, or not a number, is scored again in logarithms. In the room of a run a row of a table takes whole vectors,
 * with zeros after the last class. Runs are independent of each other: each gets the bits that it gets alone. */
#include <stdlib.h>

#include "loops_cells.h"

/* Rows at a time in one run, cells found at a time for all runs, and vectors of a row that stay in registers. */
enum { PASS_ROWS = 32, PASS_CELLS = 16384, PASS_VECS = 8 };
#define LEAST_PROBABILITY 1e-140

/* The room of one run, in rows of `padded` doubles: a table row per level and one of ones for missing cells, counts of
 * the same shape, the class weights, and the sums of the responsibilities. */
struct run_room {
    ptrdiff_t padded, n_levels;
    double *prob, *count, *weight, *total;
};

/* Rows first … first + n - 1 of a pass in one run: where their cells point to, in bytes. */
struct pass_rows {
    const struct codes_pass *pass;
    const uint32_t *at;
    ptrdiff_t first, n, run;
    struct run_room room;
    double log_likelihood;
};

/* Room for `n` doubles that begins with a whole cache line; `*whole` is what has to be freed. */
static double *aligned_room(size_t n, void **whole) {
    *whole = calloc(n + 8, sizeof(double));
    return *whole ? (double *)(((uintptr_t)*whole + 63) & ~(uintptr_t)63) : NULL;
}

static struct run_room room_at(double *room, ptrdiff_t n_levels, ptrdiff_t padded) {
    ptrdiff_t table = (n_levels + 1) * padded;
    struct run_room of = {padded, n_levels, room, room + table, room + 2 * table, room + 2 * table + padded};
    return of;
}

static ptrdiff_t room_size(ptrdiff_t n_levels, ptrdiff_t padded) { return 2 * (n_levels + 2) * padded; }

/* exp of a row of log-probabilities, zeros behind it. */
static void fill_exp(const double *log_prob, ptrdiff_t n_classes, double *to, ptrdiff_t padded) {
    for (ptrdiff_t k = 0; k < padded; k++) to[k] = k < n_classes ? log_prob[k] : -INFINITY;
    for (ptrdiff_t k = 0; k < padded; k += LANES) store(to + k, exp_of_nonpositive(load(to + k)));
}

static void begin_run(const struct codes_pass *pass, ptrdiff_t run, struct run_room room) {
    ptrdiff_t n = pass->n_classes, row_length = n * pass->n_runs;
    for (ptrdiff_t l = 0; l < room.n_levels; l++)
        fill_exp(pass->table + l * row_length + run * n, n, room.prob + l * room.padded, room.padded);
    for (ptrdiff_t k = 0; k < room.padded; k++) room.prob[room.n_levels * room.padded + k] = 1.0;
    fill_exp(pass->log_weights + run * n, n, room.weight, room.padded);
    memset(room.count, 0, (size_t)((room.n_levels + 1) * room.padded) * sizeof *room.count);
    memset(room.total, 0, (size_t)room.padded * sizeof *room.total);
}

static void end_run(const struct codes_pass *pass, ptrdiff_t run, struct run_room room) {
    ptrdiff_t n = pass->n_classes, row_length = n * pass->n_runs;
    for (ptrdiff_t l = 0; l < room.n_levels; l++)
        for (ptrdiff_t k = 0; k < n; k++)
            pass->counts[l * row_length + run * n + k] += room.count[l * room.padded + k];
    for (ptrdiff_t k = 0; k < n; k++) pass->class_weight[run * n + k] += room.total[k];
}

static inline double *room_row(const double *base, uint32_t at) { return (double *)((uintptr_t)base + at); }

/* Score row i in logarithms, and make it responsibilities; the answer is its log-probability. */
static double logarithmic_row(const struct pass_rows *rows, ptrdiff_t i, double weight, double *resp) {
    const struct codes_pass *pass = rows->pass;
    const struct run_room *room = &rows->room;
    ptrdiff_t n = pass->n_classes, d = pass->codes->n_features, row_length = n * pass->n_runs, row_bytes = room->padded * 8;
    const double *log_weights = pass->log_weights + rows->run * n;
    double top = -INFINITY, sum = 0.0;
    for (ptrdiff_t k = 0; k < n; k++) {
        resp[k] = log_weights[k];
        for (ptrdiff_t j = 0; j < d; j++) {
            ptrdiff_t level = rows->at[i * d + j] / row_bytes;
            if (level < room->n_levels) resp[k] += pass->table[level * row_length + rows->run * n + k];
        }
        if (!(resp[k] <= top)) top = resp[k];
    }
    if (top == -INFINITY) { /* impossible in every class: the classes as they are */
        for (ptrdiff_t k = 0; k < n; k++) resp[k] = weight * room->weight[k];
        return top;
    }
    for (ptrdiff_t k = 0; k < n; k++) sum += resp[k] = exp(resp[k] - top);
    for (ptrdiff_t k = 0; k < n; k++) resp[k] *= weight / sum;
    return top + log(sum);
}

/* Products of the cells' probabilities, and their sums over the classes. */
INLINE void multiply_rows(const struct pass_rows *rows, double *prob, double *sums, const int shape) {
    ptrdiff_t d = rows->pass->codes->n_features, vecs = shape ? shape : rows->room.padded / LANES;
    const double *table = rows->room.prob;
    vec weight[PASS_VECS];
    UNROLL
    for (int v = 0; v < shape; v++) weight[v] = load(rows->room.weight + v * LANES);
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        const uint32_t *at = rows->at + i * d;
        double *to = prob + i * rows->room.padded;
        vec sum;
        if (shape) {
            vec product[PASS_VECS];
            UNROLL
            for (int v = 0; v < shape; v++) product[v] = weight[v];
            for (ptrdiff_t j = 0; j < d; j++) {
                const double *cell = room_row(table, at[j]);
                UNROLL
                for (int v = 0; v < shape; v++) product[v] *= load(cell + v * LANES);
            }
            sum = product[0];
            UNROLL
            for (int v = 1; v < shape; v++) sum += product[v];
            UNROLL
            for (int v = 0; v < shape; v++) store(to + v * LANES, product[v]);
        } else {
            memcpy(to, rows->room.weight, (size_t)rows->room.padded * sizeof *to);
            for (ptrdiff_t j = 0; j < d; j++)
                for (ptrdiff_t v = 0; v < vecs; v++)
                    store(to + v * LANES, load(to + v * LANES) * load(room_row(table, at[j]) + v * LANES));
            sum = load(to);
            for (ptrdiff_t v = 1; v < vecs; v++) sum += load(to + v * LANES);
        }
        sums[i] = sum_lanes(sum);
    }
}

/* Log-likelihood of the rows, and what their products are to be multiplied by. */
static void weigh_rows(struct pass_rows *rows, double *prob, double *sums) {
    double weight[PASS_ROWS];
    ptrdiff_t n = (rows->n + LANES - 1) / LANES * LANES;
    const double *row_weight = rows->pass->row_weight;
    for (ptrdiff_t i = 0; i < n; i++) weight[i] = i >= rows->n ? 0.0 : row_weight ? row_weight[rows->first + i] : 1.0;
    for (ptrdiff_t i = rows->n; i < n; i++) sums[i] = 1.0;
    vec log_likelihood = splat(0.0);
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        vec sum = load(sums + i), w = load(weight + i);
        bits unsafe = ~MASK(sum >= splat(LEAST_PROBABILITY));
        store(sums + i, w / sum);
        log_likelihood += choose(unsafe | MASK(w == splat(0.0)), splat(0.0), w * log_of_normal(sum));
        if (!lane_mask(unsafe)) continue;
        for (ptrdiff_t r = i; r < i + LANES && r < rows->n; r++) {
            if (!((lane_mask(unsafe) >> (r - i)) & 1)) continue;
            double z = logarithmic_row(rows, r, weight[r], prob + r * rows->room.padded);
            if (weight[r] != 0.0) rows->log_likelihood += weight[r] * z;
            sums[r] = 1.0;
        }
    }
    rows->log_likelihood += sum_lanes(log_likelihood);
}

/* The responsibilities of the rows into the counts of their cells, and into the class weights. */
INLINE void count_rows(const struct pass_rows *rows, const double *prob, const double *scale, const int shape) {
    ptrdiff_t d = rows->pass->codes->n_features, vecs = shape ? shape : rows->room.padded / LANES;
    double *counts = rows->room.count, *total = rows->room.total;
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        const uint32_t *at = rows->at + i * d;
        const double *from = prob + i * rows->room.padded;
        vec factor = splat(scale[i]), resp[PASS_VECS];
        UNROLL
        for (int v = 0; v < shape; v++) {
            resp[v] = load(from + v * LANES) * factor;
            store(total + v * LANES, load(total + v * LANES) + resp[v]);
        }
        for (ptrdiff_t j = 0; shape && j < d; j++) {
            double *to = room_row(counts, at[j]);
            UNROLL
            for (int v = 0; v < shape; v++) store(to + v * LANES, load(to + v * LANES) + resp[v]);
        }
        for (ptrdiff_t v = 0; !shape && v < vecs; v++) {
            vec one = load(from + v * LANES) * factor;
            store(total + v * LANES, load(total + v * LANES) + one);
            for (ptrdiff_t j = 0; j < d; j++) {
                double *to = room_row(counts, at[j]) + v * LANES;
                store(to, load(to) + one);
            }
        }
    }
}

#define PASS_WITH_SHAPE(shape)                                                                         \
    static void pass_rows_##shape(struct pass_rows *rows, double *prob) {                              \
        double scale[PASS_ROWS + VECTOR_BYTES / 8];                                                    \
        multiply_rows(rows, prob, scale, shape);                                                       \
        weigh_rows(rows, prob, scale);                                                                 \
        count_rows(rows, prob, scale, shape);                                                          \
    }
PASS_WITH_SHAPE(0)
PASS_WITH_SHAPE(1)
PASS_WITH_SHAPE(2)
PASS_WITH_SHAPE(3)
PASS_WITH_SHAPE(4)
PASS_WITH_SHAPE(5)
PASS_WITH_SHAPE(6)
PASS_WITH_SHAPE(7)
PASS_WITH_SHAPE(8)

/* Where the cells of n_rows rows from `row` on point to. */
static void find_cells(struct codes_job *job, const int64_t *offsets, ptrdiff_t row, ptrdiff_t n_rows,
                       ptrdiff_t row_bytes, ptrdiff_t missing, uint32_t *at) {
    int64_t offset[CELLS_AT_ONCE];
    ptrdiff_t d = job->codes->n_features;
    for (ptrdiff_t first = 0; first < d; first += CELLS_AT_ONCE) {
        select_columns(job, offsets, first);
        for (ptrdiff_t i = 0; i < n_rows; i += job->step) {
            ptrdiff_t step = n_rows - i < job->step ? n_rows - i : job->step;
            find_rows(job, row + i, step, row_bytes, missing, offset);
            for (ptrdiff_t r = 0; r < step; r++)
                for (ptrdiff_t c = 0; c < job->n; c++)
                    at[(i + r) * d + first + c] = (uint32_t)offset[r * job->n + c];
        }
    }
}

/* Some rows in one run, a few at a time. */
static void pass_block(struct pass_rows rows, ptrdiff_t n_rows, double *prob) {
    static void (*const by_shape[])(struct pass_rows *, double *) = {pass_rows_0, pass_rows_1, pass_rows_2, pass_rows_3,
                                                                     pass_rows_4, pass_rows_5, pass_rows_6, pass_rows_7,
                                                                     pass_rows_8};
    ptrdiff_t shape = rows.room.padded / LANES, d = rows.pass->codes->n_features;
    for (ptrdiff_t i = 0; i < n_rows; i += PASS_ROWS) {
        struct pass_rows few = rows;
        few.first += i, few.at += i * d;
        few.n = n_rows - i < PASS_ROWS ? n_rows - i : PASS_ROWS;
        by_shape[shape > PASS_VECS ? 0 : shape](&few, prob);
        rows.pass->log_likelihood[rows.run] += few.log_likelihood;
    }
}

static ptrdiff_t codes_pass(const struct codes_pass *pass) {
    ptrdiff_t wrong = ALL_VALID, d = pass->codes->n_features, n_rows = pass->codes->n_rows, n_levels = pass->offsets[d];
    ptrdiff_t padded = (pass->n_classes + LANES - 1) / LANES * LANES, size = room_size(n_levels, padded);
    ptrdiff_t block = d > 0 && n_rows > PASS_CELLS / d ? PASS_CELLS / d + 1 : n_rows;
    /* Where all rows are one block, the runs have the same room, one after the other. */
    ptrdiff_t n_rooms = block < n_rows ? pass->n_runs : 1;
    void *whole;
    double *rooms = aligned_room((size_t)(n_rooms * size + PASS_ROWS * padded), &whole);
    uint32_t *at = (uint32_t *)malloc((size_t)(block * d + 1) * sizeof *at);
    if (!rooms || !at) {
        free(whole);
        free(at);
        return OUT_OF_MEMORY;
    }
    struct codes_job job = {.codes = pass->codes, .wrong = &wrong};
    for (ptrdiff_t i = 0; i < n_rows; i += block) {
        ptrdiff_t n = n_rows - i < block ? n_rows - i : block;
        find_cells(&job, pass->offsets, i, n, padded * 8, n_levels * padded * 8, at);
        if (wrong != ALL_VALID) break;
        for (ptrdiff_t run = 0; run < pass->n_runs; run++) {
            struct run_room room = room_at(rooms + (n_rooms > 1 ? run * size : 0), n_levels, padded);
            struct pass_rows rows = {.pass = pass, .at = at, .first = i, .run = run, .room = room};
            if (i == 0) begin_run(pass, run, room);
            pass_block(rows, n, rooms + n_rooms * size);
            if (i + n == n_rows) end_run(pass, run, room);
        }
    }
    free(whole);
    free(at);
    return wrong;
}
