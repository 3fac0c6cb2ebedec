/* One pass of a logistic regression of two classes: log-likelihood and score of rows that are read once.
 *
 * A few rows at a time, so that they are still in the nearest cache when their residuals are known: their predictors,
 * then their residuals, a vector of rows at once, then the residuals times the rows. */
#ifndef SOFTCOUNT_LOOPS_LOGISTIC_H
#define SOFTCOUNT_LOOPS_LOGISTIC_H

#include "level.h"
#include "vectors.h"

enum { TILE_CELLS = 3072, MOST_TILE_ROWS = 64, SCORE_VECS = 4 };

/* Some rows: their margins, which become their residuals, and their signs and weights, padded to whole vectors. */
struct labeled_tile {
    double value[MOST_TILE_ROWS], sign[MOST_TILE_ROWS], weight[MOST_TILE_ROWS];
};

static double row_predictor(const double *row, const double *slope, ptrdiff_t n) {
    vec sum[SCORE_VECS];
    double rest = 0.0;
    ptrdiff_t j = 0;
    UNROLL
    for (int v = 0; v < SCORE_VECS; v++) sum[v] = splat(0.0);
    for (; j + SCORE_VECS * LANES <= n; j += SCORE_VECS * LANES) {
        UNROLL
        for (int v = 0; v < SCORE_VECS; v++) sum[v] += load(row + j + v * LANES) * load(slope + j + v * LANES);
    }
    for (; j + LANES <= n; j += LANES) sum[0] += load(row + j) * load(slope + j);
    for (; j < n; j++) rest += row[j] * slope[j];
    return sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

/* With the margin m = sign * eta, a row's log-likelihood is min(m, 0) - log(1 + exp(-|m|)) and its residual
 * sign / (1 + exp(m)). No probability is subtracted from 1 where it is near 1; what rounding 1 + exp(-|m|) took from
 * the logarithm is added again. The answer is the weighted sum of the log-likelihoods, lane by lane. */
INLINE vec tile_residuals(struct labeled_tile *tile, ptrdiff_t n_rows) {
    const vec one = splat(1.0), zero = splat(0.0);
    vec total = zero;
    for (ptrdiff_t i = 0; i < n_rows; i += LANES) {
        vec sign = load(tile->sign + i), weight = load(tile->weight + i);
        vec margin = sign * load(tile->value + i);
        vec small = exp_of_nonpositive(choose(MASK(margin > zero), zero - margin, margin));
        vec whole = one + small;
        vec log_whole = log_of_normal(whole) + (small - (whole - one)) / whole;
        vec less = small / whole;
        total += weight * (choose(MASK(margin < zero), margin, zero) - log_whole);
        store(tile->value + i, weight * sign * choose(MASK(margin >= zero), less, one - less));
    }
    return total;
}

/* Add residual[i] * cells[i][j] to score[j]. */
static void add_tile(const double *cells, const double *residual, ptrdiff_t n_rows, ptrdiff_t n, double *score) {
    ptrdiff_t j = 0;
    for (; j + SCORE_VECS * LANES <= n; j += SCORE_VECS * LANES) {
        vec sum[SCORE_VECS];
        UNROLL
        for (int v = 0; v < SCORE_VECS; v++) sum[v] = load(score + j + v * LANES);
        for (ptrdiff_t i = 0; i < n_rows; i++) {
            vec r = splat(residual[i]);
            UNROLL
            for (int v = 0; v < SCORE_VECS; v++) sum[v] += r * load(cells + i * n + j + v * LANES);
        }
        UNROLL
        for (int v = 0; v < SCORE_VECS; v++) store(score + j + v * LANES, sum[v]);
    }
    for (; j + LANES <= n; j += LANES) {
        vec sum = load(score + j);
        for (ptrdiff_t i = 0; i < n_rows; i++) sum += splat(residual[i]) * load(cells + i * n + j);
        store(score + j, sum);
    }
    for (; j < n; j++)
        for (ptrdiff_t i = 0; i < n_rows; i++) score[j] += residual[i] * cells[i * n + j];
}

static void logistic_score(const struct labeled *rows, const double *coef, double *score, double *log_likelihood) {
    const ptrdiff_t n = rows->n_features, most = TILE_CELLS / (n + 1);
    const ptrdiff_t step = most > MOST_TILE_ROWS ? MOST_TILE_ROWS : most < 8 ? 8 : most - most % LANES;
    struct labeled_tile tile;
    vec total = splat(0.0);
    for (ptrdiff_t first = 0; first < rows->n_rows; first += step) {
        const ptrdiff_t n_rows = rows->n_rows - first < step ? rows->n_rows - first : step;
        const double *cells = rows->cells + first * n;
        for (ptrdiff_t i = 0; i < n_rows; i++) {
            const double shift = rows->offset ? coef[0] + rows->offset[first + i] : coef[0];
            tile.value[i] = shift + row_predictor(cells + i * n, coef + 1, n);
            tile.sign[i] = rows->sign[first + i];
            tile.weight[i] = rows->weight ? rows->weight[first + i] : 1.0;
        }
        for (ptrdiff_t i = n_rows; i % LANES; i++) tile.value[i] = tile.weight[i] = 0.0, tile.sign[i] = 1.0;
        total += tile_residuals(&tile, n_rows);
        for (ptrdiff_t i = 0; i < n_rows; i++) score[0] += tile.value[i];
        add_tile(cells, tile.value, n_rows, n, score + 1);
    }
    *log_likelihood += sum_lanes(total);
}

#endif
