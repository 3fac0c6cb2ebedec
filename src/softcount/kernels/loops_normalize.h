/* Scores to responsibilities: r = w exp(s - z), z = log of the sum of exp(s). */
#include <math.h>

#include "vectors.h"

#define NORMALIZED_AT_ONCE 512 /* doubles that stay in the first-level cache between the passes over a few rows */

static double largest(const double *row, ptrdiff_t n) {
    double top = row[0];
    ptrdiff_t k = 1;
    if (n >= LANES) {
        vec tops = load(row);
        for (k = LANES; k + LANES <= n; k += LANES) tops = maximum(load(row + k), tops);
        top = max_lanes(tops);
    }
    for (; k < n; k++) top = row[k] > top ? row[k] : top;
    return top;
}

static double total(const double *row, ptrdiff_t n) {
    double sum = 0.0;
    ptrdiff_t k = 0;
    if (n >= LANES) {
        vec sums = load(row);
        for (k = LANES; k + LANES <= n; k += LANES) sums += load(row + k);
        sum = sum_lanes(sums);
    }
    for (; k < n; k++) sum += row[k];
    return sum;
}

/* Apply exp to n numbers in place; the last few are padded to a whole vector. */
static void exp_all(double *x, ptrdiff_t n) {
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) store(x + i, exp_of_nonpositive(load(x + i)));
    if (i < n) {
        double padded[LANES] = {0.0};
        memcpy(padded, x + i, (size_t)(n - i) * sizeof *x);
        store(padded, exp_of_nonpositive(load(padded)));
        memcpy(x + i, padded, (size_t)(n - i) * sizeof *x);
    }
}

/* A few rows at a time go through five short passes: subtract each row's maximum, exp, sum, log of the sums, scale.
 * A row whose scores are all -inf gets the fallback probabilities instead. */
static double normalize_rows(double *scores, ptrdiff_t n_rows, ptrdiff_t n_classes, const double *row_weight,
                             const double *fallback_log_prob, double *log_norm) {
    enum { MOST_ROWS = 64 };
    double top[MOST_ROWS], sum[MOST_ROWS], log_sum[MOST_ROWS], log_likelihood = 0.0;
    ptrdiff_t step = NORMALIZED_AT_ONCE / n_classes;
    step = step < 1 ? 1 : step > MOST_ROWS ? MOST_ROWS : step;
    for (ptrdiff_t i = 0; i < n_rows; i += step) {
        ptrdiff_t n = n_rows - i < step ? n_rows - i : step;
        double *rows = scores + i * n_classes, block_log_likelihood = 0.0;
        for (ptrdiff_t r = 0; r < n; r++) {
            double *row = rows + r * n_classes;
            top[r] = largest(row, n_classes);
            if (top[r] == -INFINITY) memcpy(row, fallback_log_prob, (size_t)n_classes * sizeof *row);
            double shift = top[r] == -INFINITY ? 0.0 : top[r];
            for (ptrdiff_t k = 0; k < n_classes; k++) row[k] -= shift;
        }
        exp_all(rows, n * n_classes);
        for (ptrdiff_t r = 0; r < MOST_ROWS; r++) sum[r] = 1.0;
        for (ptrdiff_t r = 0; r < n; r++)
            if (top[r] != -INFINITY) sum[r] = total(rows + r * n_classes, n_classes);
        for (ptrdiff_t r = 0; r < n; r += LANES) store(log_sum + r, log_of_at_least_one(load(sum + r)));
        for (ptrdiff_t r = 0; r < n; r++) {
            double weight = row_weight ? row_weight[i + r] : 1.0, scale = weight / sum[r];
            double z = top[r] + log_sum[r];
            if (log_norm) log_norm[i + r] = z;
            if (weight != 0.0) block_log_likelihood += weight * z;
            for (ptrdiff_t k = 0; k < n_classes; k++) rows[r * n_classes + k] *= scale;
        }
        log_likelihood += block_log_likelihood;
    }
    return log_likelihood;
}
