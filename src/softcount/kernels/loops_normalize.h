/* Scores to responsibilities: r = w exp(s - z), z = log of the sum of exp(s). */
#include "loops_panel.h"

enum { SOFTMAX_CELLS = 2048, FEW_CLASSES = 64 }; /* 2048 doubles stay in the first-level cache */

struct softmax {
    double *scores;
    ptrdiff_t n_classes;
    const double *row_weight, *fallback_log_prob;
    double *log_norm;
};

/* Apply exp to n numbers in place; the last few are padded to a whole vector. */
static void exp_all(double *x, ptrdiff_t n) {
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) store(x + i, exp_of_nonpositive(load(x + i)));
    if (i < n) {
        double padded[VECTOR_BYTES / 8] = {0.0};
        memcpy(padded, x + i, (size_t)(n - i) * sizeof *x);
        store(padded, exp_of_nonpositive(load(padded)));
        memcpy(x + i, padded, (size_t)(n - i) * sizeof *x);
    }
}

/* A row that no class can have produced gets the fallback probabilities. */
static void fall_back(const struct softmax *of, ptrdiff_t i, double weight) {
    double *row = of->scores + i * of->n_classes;
    memcpy(row, of->fallback_log_prob, (size_t)of->n_classes * sizeof *row);
    exp_all(row, of->n_classes);
    for (ptrdiff_t k = 0; k < of->n_classes; k++) row[k] *= weight;
}

/* LANES rows, one in each lane: column k of them is at cell + k * stride. The answer is each row's z. */
INLINE vec softmax_lanes(double *cell, ptrdiff_t stride, ptrdiff_t n_classes, vec weight) {
    vec top = load(cell), sum = splat(0.0);
    for (ptrdiff_t k = 1; k < n_classes; k++) top = maximum(load(cell + k * stride), top);
    bits impossible = MASK(top == splat(-INFINITY));
    vec shift = choose(impossible, splat(0.0), top);
    for (ptrdiff_t k = 0; k < n_classes; k++) {
        vec part = exp_of_nonpositive(load(cell + k * stride) - shift);
        store(cell + k * stride, part);
        sum += part;
    }
    sum = choose(impossible, splat(1.0), sum);
    vec scale = weight / sum;
    for (ptrdiff_t k = 0; k < n_classes; k++) store(cell + k * stride, load(cell + k * stride) * scale);
    return top + log_of_normal(sum);
}

/* Few classes: a panel of rows is turned so that the rows lie in the lanes, and turned back. */
static double softmax_panel(const struct softmax *of, ptrdiff_t i, ptrdiff_t n, ptrdiff_t stride) {
    double cell[SOFTMAX_CELLS], weight[PANEL_ROWS], z[PANEL_ROWS];
    ptrdiff_t n_classes = of->n_classes, padded = (n + LANES - 1) / LANES * LANES;
    double *rows = of->scores + i * n_classes;
    for (ptrdiff_t r = 0; r < padded; r++) weight[r] = r >= n ? 0.0 : of->row_weight ? of->row_weight[i + r] : 1.0;
    for (ptrdiff_t k = 0; k < n_classes; k++)
        for (ptrdiff_t r = n; r < padded; r++) cell[k * stride + r] = 0.0;
    turn(rows, n_classes, n, n_classes, cell, stride);
    vec log_likelihood = splat(0.0);
    bits impossible = {0};
    for (ptrdiff_t r = 0; r < padded; r += LANES) {
        vec w = load(weight + r), log_norm = softmax_lanes(cell + r, stride, n_classes, w);
        log_likelihood += choose(MASK(w == splat(0.0)), splat(0.0), w * log_norm);
        impossible |= MASK(log_norm == splat(-INFINITY));
        store(z + r, log_norm);
    }
    turn(cell, stride, n_classes, n, rows, n_classes);
    if (of->log_norm) memcpy(of->log_norm + i, z, (size_t)n * sizeof *z);
    for (ptrdiff_t r = 0; lane_mask(impossible) && r < n; r++)
        if (z[r] == -INFINITY) fall_back(of, i + r, weight[r]);
    return sum_lanes(log_likelihood);
}

/* Many classes: one row at a time. */
static double softmax_row(const struct softmax *of, ptrdiff_t i) {
    ptrdiff_t n_classes = of->n_classes, k;
    double *row = of->scores + i * n_classes, weight = of->row_weight ? of->row_weight[i] : 1.0;
    vec tops = load(row), sums = splat(0.0);
    for (k = LANES; k + LANES <= n_classes; k += LANES) tops = maximum(load(row + k), tops);
    tops = maximum(load(row + n_classes - LANES), tops);
    double top = max_lanes(tops), sum = 0.0, z = top;
    if (top == -INFINITY) {
        fall_back(of, i, weight);
    } else {
        for (k = 0; k < n_classes; k++) row[k] -= top;
        exp_all(row, n_classes);
        for (k = 0; k + LANES <= n_classes; k += LANES) sums += load(row + k);
        for (; k < n_classes; k++) sum += row[k];
        sum += sum_lanes(sums);
        for (k = 0; k < n_classes; k++) row[k] *= weight / sum;
        z += log(sum);
    }
    if (of->log_norm) of->log_norm[i] = z;
    return weight == 0.0 ? 0.0 : weight * z;
}

static double normalize_rows(double *scores, ptrdiff_t n_rows, ptrdiff_t n_classes, const double *row_weight,
                             const double *fallback_log_prob, double *log_norm) {
    struct softmax of = {scores, n_classes, row_weight, fallback_log_prob, log_norm};
    double log_likelihood = 0.0;
    if (n_classes > FEW_CLASSES) {
        for (ptrdiff_t i = 0; i < n_rows; i++) log_likelihood += softmax_row(&of, i);
        return log_likelihood;
    }
    ptrdiff_t stride = SOFTMAX_CELLS / n_classes / LANES * LANES;
    stride = stride > PANEL_ROWS ? PANEL_ROWS : stride;
    for (ptrdiff_t i = 0; i < n_rows; i += stride)
        log_likelihood += softmax_panel(&of, i, n_rows - i < stride ? n_rows - i : stride, stride);
    return log_likelihood;
}
