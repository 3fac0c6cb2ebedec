/* One pass of EM over categorical rows, for one or several runs of it: what codes_scores, normalize_rows and
 * codes_accumulate do one after the other, while a few rows are in the first-level cache.
 *
 * A row has few cells, so the probability of its answers in a class is a product that stays far from underflow:
 *
 *     p_ik = pi_k prod_j theta[j, x_ij, k],   r_ik = w_i p_ik / sum_l p_il,   log-likelihood = sum_i w_i log(sum_k p_ik)
 *
 * Only the tables are exponentiated, not the rows. Columns of few levels are taken together in *slots*: one row of the
 * slot's table is the product over all its columns, and its counts are dealt out at the end, so that a row of two or
 * three columns costs one product and one addition. A row whose probability in all classes together is small all the
 * same, or not a number, is scored again in logarithms. In the room of a run a row of a table takes whole vectors, with
 * zeros after the last class. Runs are independent of each other: each gets the bits that it gets alone. */
#include <stdlib.h>

#include "loops_cells.h"

/* Rows at a time in one run, cells found at a time for all runs, vectors of a row that stay in registers, the most rows
 * of a slot of several columns, and the most numbers of all tables of such. */
enum { PASS_ROWS = 32, PASS_CELLS = 16384, PASS_VECS = 8, SLOT_ROWS = 64, PASS_TABLE = 4096 };
#define LEAST_PROBABILITY 1e-140

/* Columns first … first + n - 1, with their levels and one more for a missing cell: the cells l_1, l_2, … of a row name
 * row (l_1 * size_2 + l_2) * size_3 + … of n_rows, which begin at row `start` of the run's tables. */
struct slot {
    ptrdiff_t first, n, n_rows, start;
};

/* The columns of a pass as slots, which have n_rows rows together. */
struct slots {
    ptrdiff_t n, n_rows;
    struct slot *slot;
};

/* The room of one run, in rows of `padded` doubles: a table of probabilities, counts of the same shape, and the weights
 * of the classes. */
struct run_room {
    ptrdiff_t padded;
    double *prob, *count, *weight;
};

/* Rows first … first + n - 1 of a pass in one run: where their cells point to, in bytes. */
struct pass_rows {
    const struct codes_pass *pass;
    const struct slots *slots;
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

static ptrdiff_t room_size(const struct slots *slots, ptrdiff_t padded) { return (2 * slots->n_rows + 1) * padded; }

static struct run_room room_at(double *room, const struct slots *slots, ptrdiff_t padded) {
    ptrdiff_t table = slots->n_rows * padded;
    struct run_room of = {padded, room, room + table, room + 2 * table};
    return of;
}

static ptrdiff_t level_count(const struct codes_pass *pass, ptrdiff_t j) {
    return (ptrdiff_t)(pass->offsets[j + 1] - pass->offsets[j]);
}

/* Neighboring columns share a slot while its table is small: `most` rows at most. Without any column there is one slot
 * of one row, for the first slot's counts are those of the classes as well. The answer is how many rows all have. */
static ptrdiff_t deal_columns(const struct codes_pass *pass, ptrdiff_t most, struct slots *slots) {
    slots->slot[0] = (struct slot){0, 0, 1, 0};
    slots->n = slots->n_rows = pass->codes->n_features == 0;
    for (ptrdiff_t j = 0; j < pass->codes->n_features; j++) {
        ptrdiff_t size = level_count(pass, j) + 1;
        struct slot *last = slots->slot + slots->n - 1;
        if (slots->n > 0 && last->n_rows * size <= most && last->n < SLOT_ROWS) {
            slots->n_rows += last->n_rows * (size - 1);
            last->n_rows *= size;
            last->n++;
        } else {
            slots->slot[slots->n++] = (struct slot){j, 1, size, slots->n_rows};
            slots->n_rows += size;
        }
    }
    return slots->n_rows;
}

/* exp of a row of log-probabilities, zeros behind it. */
static void fill_exp(const double *log_prob, ptrdiff_t n_classes, double *to, ptrdiff_t padded) {
    for (ptrdiff_t k = 0; k < padded; k++) to[k] = k < n_classes ? log_prob[k] : -INFINITY;
    for (ptrdiff_t k = 0; k < padded; k += LANES) store(to + k, exp_of_nonpositive(load(to + k)));
}

/* The products of a slot's columns, one column more at a time: row r so far becomes the rows r * size + l. The last
 * level is a missing cell, of probability one; the first slot's products have the class weights as well. From the back, so
 * that no row is written over before it is read; `level` is room for the levels of a column. */
static void fill_slot(const struct codes_pass *pass, ptrdiff_t run, const struct slot *slot, ptrdiff_t padded,
                      const double *weight, double *prob, double *level) {
    ptrdiff_t n = pass->n_classes, row_length = n * pass->n_runs, n_rows = 1;
    for (ptrdiff_t k = 0; k < padded; k++) prob[k] = slot->start == 0 ? weight[k] : 1.0;
    for (ptrdiff_t j = slot->first; j < slot->first + slot->n; j++) {
        ptrdiff_t size = level_count(pass, j) + 1;
        for (ptrdiff_t l = 0; l < size - 1; l++)
            fill_exp(pass->table + (pass->offsets[j] + l) * row_length + run * n, n, level + l * padded, padded);
        for (ptrdiff_t k = 0; k < padded; k++) level[(size - 1) * padded + k] = 1.0;
        for (ptrdiff_t r = n_rows - 1; r >= 0; r--)
            for (ptrdiff_t l = size - 1; l >= 0; l--)
                for (ptrdiff_t k = 0; k < padded; k += LANES)
                    store(prob + (r * size + l) * padded + k,
                          load(prob + r * padded + k) * load(level + l * padded + k));
        n_rows *= size;
    }
}

/* The counts of a slot's rows to the levels of its columns, from the last column to the first, over which the rows are
 * summed: the first row ends as the sum of all. */
static void deal_counts(const struct codes_pass *pass, ptrdiff_t run, const struct slot *slot, ptrdiff_t padded,
                        double *count) {
    ptrdiff_t n = pass->n_classes, row_length = n * pass->n_runs, n_rows = slot->n_rows;
    for (ptrdiff_t j = slot->first + slot->n - 1; j >= slot->first; j--) {
        ptrdiff_t size = level_count(pass, j) + 1;
        n_rows /= size;
        for (ptrdiff_t l = 0; l < size - 1; l++) {
            double *out = pass->counts + (pass->offsets[j] + l) * row_length + run * n;
            for (ptrdiff_t k = 0; k < n; k++) {
                double sum = 0.0;
                for (ptrdiff_t r = 0; r < n_rows; r++) sum += count[(r * size + l) * padded + k];
                out[k] += sum;
            }
        }
        for (ptrdiff_t r = 0; r < n_rows; r++)
            for (ptrdiff_t k = 0; k < padded; k += LANES) {
                vec sum = load(count + r * size * padded + k);
                for (ptrdiff_t l = 1; l < size; l++) sum += load(count + (r * size + l) * padded + k);
                store(count + r * padded + k, sum);
            }
    }
}

static void begin_run(const struct codes_pass *pass, const struct slots *slots, ptrdiff_t run, struct run_room room) {
    fill_exp(pass->log_weights + run * pass->n_classes, pass->n_classes, room.weight, room.padded);
    for (ptrdiff_t s = 0; s < slots->n; s++) {
        double *prob = room.prob + slots->slot[s].start * room.padded;
        fill_slot(pass, run, slots->slot + s, room.padded, room.weight, prob, room.count);
    }
    memset(room.count, 0, (size_t)(slots->n_rows * room.padded) * sizeof *room.count);
}

static void end_run(const struct codes_pass *pass, const struct slots *slots, ptrdiff_t run, struct run_room room) {
    for (ptrdiff_t s = 0; s < slots->n; s++)
        deal_counts(pass, run, slots->slot + s, room.padded, room.count + slots->slot[s].start * room.padded);
    for (ptrdiff_t k = 0; k < pass->n_classes; k++) pass->class_weight[run * pass->n_classes + k] += room.count[k];
}

static inline double *room_row(const double *base, uint32_t at) { return (double *)((uintptr_t)base + at); }

/* Score row i in logarithms, and make it responsibilities; the answer is its log-probability. */
static double logarithmic_row(const struct pass_rows *rows, ptrdiff_t i, double weight, double *resp) {
    const struct codes_pass *pass = rows->pass;
    ptrdiff_t n = pass->n_classes, d = pass->codes->n_features, row_length = n * pass->n_runs;
    double top = -INFINITY, sum = 0.0;
    memcpy(resp, pass->log_weights + rows->run * n, (size_t)n * sizeof *resp);
    for (ptrdiff_t j = 0; j < d; j++) {
        int32_t room, code = *as_codes(pass->codes, (rows->first + i) * d + j, 1, &room);
        const double *level = pass->table + (pass->offsets[j] + code) * row_length + rows->run * n;
        for (ptrdiff_t k = 0; code >= 0 && k < n; k++) resp[k] += level[k];
    }
    for (ptrdiff_t k = 0; k < n; k++)
        if (!(resp[k] <= top)) top = resp[k];
    if (top == -INFINITY) { /* impossible in every class: the classes as they are */
        for (ptrdiff_t k = 0; k < n; k++) resp[k] = weight * rows->room.weight[k];
        return top;
    }
    for (ptrdiff_t k = 0; k < n; k++) sum += resp[k] = exp(resp[k] - top);
    for (ptrdiff_t k = 0; k < n; k++) resp[k] *= weight / sum;
    return top + log(sum);
}

/* Products of the cells' probabilities, and their sums over the classes. */
INLINE void multiply_rows(const struct pass_rows *rows, double *prob, double *sums, const int shape) {
    ptrdiff_t d = rows->slots->n, vecs = shape ? shape : rows->room.padded / LANES;
    const double *table = rows->room.prob;
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        const uint32_t *at = rows->at + i * d;
        double *to = prob + i * rows->room.padded;
        vec sum;
        if (shape) {
            vec product[PASS_VECS];
            UNROLL
            for (int v = 0; v < shape; v++) product[v] = load(room_row(table, at[0]) + v * LANES);
            for (ptrdiff_t j = 1; j < d; j++) {
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
            memcpy(to, room_row(table, at[0]), (size_t)rows->room.padded * sizeof *to);
            for (ptrdiff_t j = 1; j < d; j++)
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

/* The responsibilities of the rows into the counts of their slots. */
INLINE void count_rows(const struct pass_rows *rows, const double *prob, const double *scale, const int shape) {
    ptrdiff_t d = rows->slots->n, vecs = shape ? shape : rows->room.padded / LANES;
    double *counts = rows->room.count;
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        const uint32_t *at = rows->at + i * d;
        const double *from = prob + i * rows->room.padded;
        vec factor = splat(scale[i]), resp[PASS_VECS];
        UNROLL
        for (int v = 0; v < shape; v++) resp[v] = load(from + v * LANES) * factor;
        for (ptrdiff_t j = 0; shape && j < d; j++) {
            double *to = room_row(counts, at[j]);
            UNROLL
            for (int v = 0; v < shape; v++) store(to + v * LANES, load(to + v * LANES) + resp[v]);
        }
        for (ptrdiff_t v = 0; !shape && v < vecs; v++) {
            vec one = load(from + v * LANES) * factor;
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

/* Where one slot of each row points to, in bytes; the answer is not zero if a cell is out of range. A missing cell has
 * the code -1, the largest number without a sign. */
INLINE uint32_t find_slot(const int32_t *codes, ptrdiff_t d, ptrdiff_t n_rows, const uint32_t *size, uint32_t start,
                          uint32_t row_bytes, uint32_t *at, ptrdiff_t n_slots, const ptrdiff_t n) {
    uint32_t wrong = 0;
    for (ptrdiff_t i = 0; i < n_rows; i++) {
        uint32_t place = 0;
        for (ptrdiff_t c = 0; c < n; c++) {
            uint32_t level = (uint32_t)codes[i * d + c], last = size[c] - 1;
            wrong |= (level >= last) & (level != UINT32_MAX);
            place = place * size[c] + (level < last ? level : last);
        }
        at[i * n_slots] = (start + place) * row_bytes;
    }
    return wrong;
}

/* Where the slots of n_rows rows from `row` on point to; the answer is the first cell out of range. */
static ptrdiff_t find_slots(const struct codes_pass *pass, const struct slots *slots, ptrdiff_t row, ptrdiff_t n_rows,
                            uint32_t row_bytes, uint32_t *at, int32_t *room) {
    ptrdiff_t d = pass->codes->n_features, n_slots = slots->n;
    const int32_t *codes = as_codes(pass->codes, row * d, n_rows * d, room);
    uint32_t wrong = 0, size[SLOT_ROWS];
    for (ptrdiff_t s = 0; s < n_slots; s++) {
        const struct slot *of = slots->slot + s;
        const int32_t *cell = codes + of->first;
        uint32_t start = (uint32_t)of->start;
        for (ptrdiff_t c = 0; c < of->n; c++) size[c] = (uint32_t)level_count(pass, of->first + c) + 1;
        switch (of->n) {
        case 1: wrong |= find_slot(cell, d, n_rows, size, start, row_bytes, at + s, n_slots, 1); break;
        case 2: wrong |= find_slot(cell, d, n_rows, size, start, row_bytes, at + s, n_slots, 2); break;
        default: wrong |= find_slot(cell, d, n_rows, size, start, row_bytes, at + s, n_slots, of->n);
        }
    }
    for (ptrdiff_t c = 0; wrong && c < n_rows * d; c++)
        if (codes[c] != -1 && (uint32_t)codes[c] >= (uint32_t)level_count(pass, c % d)) return row * d + c;
    return ALL_VALID;
}

/* Some rows in one run, a few at a time. */
static void pass_block(struct pass_rows rows, ptrdiff_t n_rows, double *prob) {
    static void (*const by_shape[])(struct pass_rows *, double *) = {pass_rows_0, pass_rows_1, pass_rows_2,
                                                                     pass_rows_3, pass_rows_4, pass_rows_5,
                                                                     pass_rows_6, pass_rows_7, pass_rows_8};
    ptrdiff_t shape = rows.room.padded / LANES;
    for (ptrdiff_t i = 0; i < n_rows; i += PASS_ROWS) {
        struct pass_rows few = rows;
        few.first += i, few.at += i * rows.slots->n;
        few.n = n_rows - i < PASS_ROWS ? n_rows - i : PASS_ROWS;
        by_shape[shape > PASS_VECS ? 0 : shape](&few, prob);
        rows.pass->log_likelihood[rows.run] += few.log_likelihood;
    }
}

/* All blocks of rows in all runs. Where all rows are one block, the runs have the same room, one after the other. */
static ptrdiff_t pass_blocks(const struct codes_pass *pass, const struct slots *slots, ptrdiff_t padded,
                             ptrdiff_t block, double *rooms, uint32_t *at) {
    ptrdiff_t n_rows = pass->codes->n_rows, size = room_size(slots, padded), n_rooms = block < n_rows ? pass->n_runs : 1;
    for (ptrdiff_t i = 0; i < n_rows; i += block) {
        ptrdiff_t n = n_rows - i < block ? n_rows - i : block;
        ptrdiff_t wrong = find_slots(pass, slots, i, n, (uint32_t)padded * 8, at, (int32_t *)(at + block * slots->n));
        if (wrong != ALL_VALID) return wrong;
        for (ptrdiff_t run = 0; run < pass->n_runs; run++) {
            struct run_room room = room_at(rooms + (n_rooms > 1 ? run * size : 0), slots, padded);
            struct pass_rows rows = {.pass = pass, .slots = slots, .at = at, .first = i, .run = run, .room = room};
            if (i == 0) begin_run(pass, slots, run, room);
            pass_block(rows, n, rooms + n_rooms * size);
            if (i + n == n_rows) end_run(pass, slots, run, room);
        }
    }
    return ALL_VALID;
}

static ptrdiff_t codes_pass(const struct codes_pass *pass) {
    ptrdiff_t answer = OUT_OF_MEMORY, d = pass->codes->n_features, n_rows = pass->codes->n_rows;
    ptrdiff_t padded = (pass->n_classes + LANES - 1) / LANES * LANES;
    ptrdiff_t block = d > 0 && n_rows > PASS_CELLS / d ? PASS_CELLS / d + 1 : n_rows;
    struct slots slots = {.slot = (struct slot *)malloc((size_t)(d + 1) * sizeof *slots.slot)};
    if (!slots.slot) return OUT_OF_MEMORY;
    /* Tables of several columns pay where rows are many more, and where they leave room in the cache. */
    ptrdiff_t n_table_rows = deal_columns(pass, SLOT_ROWS, &slots);
    if (4 * n_table_rows > n_rows || n_table_rows * padded > PASS_TABLE) deal_columns(pass, 1, &slots);
    ptrdiff_t n_rooms = block < n_rows ? pass->n_runs : 1;
    void *whole;
    double *rooms = aligned_room((size_t)(n_rooms * room_size(&slots, padded) + PASS_ROWS * padded), &whole);
    uint32_t *at = (uint32_t *)malloc((size_t)(block * (slots.n + d) + 1) * sizeof *at);
    if (rooms && at) answer = pass_blocks(pass, &slots, padded, block, rooms, at);
    free(whole);
    free(at);
    free(slots.slot);
    return answer;
}
