/* Gaussian rows with a full covariance per class; no missing cells.
 *
 * Both loops are small matrix products made for their shape: the scores use that the factor U is triangular, the
 * scatter that its result is symmetric, so each does about half the work of a general product. */
#include <stdlib.h>

#include "loops_panel.h"

#define ROW_VECS 4 /* vectors of rows worked on together */

/* Turn all columns of up to PANEL_ROWS rows. */
static void turn_rows(const struct dense *x, ptrdiff_t row, ptrdiff_t n_rows, double *turned) {
    double room[PANEL_ROWS * PANEL_COLUMNS];
    for (ptrdiff_t j = 0; j < x->n_features; j += PANEL_COLUMNS) {
        ptrdiff_t n = x->n_features - j < PANEL_COLUMNS ? x->n_features - j : PANEL_COLUMNS;
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            double *to = room + r * PANEL_COLUMNS;
            const double *from = as_doubles(x->cells, x->type, (row + r) * x->n_features + j, n, to);
            if (from != to) memcpy(to, from, (size_t)n * sizeof *to);
        }
        turn(room, PANEL_COLUMNS, n_rows, n, turned + j * PANEL_ROWS, PANEL_ROWS);
    }
}

/* square[r] = |z|^2 with z = (x_r - m) U, for ROW_VECS vectors of rows and two columns of z at a time. */
static void squared_distances(const double *shifted, const double *factor, ptrdiff_t d, double *square) {
    vec squares[ROW_VECS];
    UNROLL
    for (int v = 0; v < ROW_VECS; v++) squares[v] = splat(0.0);
    for (ptrdiff_t b = 0; b < d; b += 2) {
        int has_second = b + 1 < d;
        vec first[ROW_VECS], second[ROW_VECS];
        UNROLL
        for (int v = 0; v < ROW_VECS; v++) first[v] = second[v] = splat(0.0);
        for (ptrdiff_t a = 0; a <= b; a++) {
            const double *cell = shifted + a * PANEL_ROWS, *u = factor + a * d + b;
            vec u_first = splat(u[0]), u_second = splat(u[has_second]);
            UNROLL
            for (int v = 0; v < ROW_VECS; v++) {
                first[v] += u_first * load(cell + v * LANES);
                second[v] += u_second * load(cell + v * LANES);
            }
        }
        if (has_second) {
            vec diagonal = splat(factor[(b + 1) * d + b + 1]);
            UNROLL
            for (int v = 0; v < ROW_VECS; v++) {
                second[v] += diagonal * load(shifted + (b + 1) * PANEL_ROWS + v * LANES);
                squares[v] += second[v] * second[v];
            }
        }
        UNROLL
        for (int v = 0; v < ROW_VECS; v++) squares[v] += first[v] * first[v];
    }
    UNROLL
    for (int v = 0; v < ROW_VECS; v++) store(square + v * LANES, squares[v]);
}

static ptrdiff_t full_scores(const struct dense *x, const double *mean, const double *precision_chol,
                             const double *log_det, ptrdiff_t n_classes, double *out) {
    ptrdiff_t d = x->n_features;
    double square[PANEL_ROWS];
    double *turned = (double *)calloc((size_t)(2 * d * PANEL_ROWS) + 1, sizeof *turned);
    if (!turned) return OUT_OF_MEMORY;
    double *shifted = turned + d * PANEL_ROWS;
    for (ptrdiff_t i = 0; i < x->n_rows; i += PANEL_ROWS) {
        ptrdiff_t n_rows = x->n_rows - i < PANEL_ROWS ? x->n_rows - i : PANEL_ROWS;
        turn_rows(x, i, n_rows, turned);
        for (ptrdiff_t k = 0; k < n_classes; k++) {
            for (ptrdiff_t a = 0; a < d; a++)
                for (ptrdiff_t r = 0; r < PANEL_ROWS; r++)
                    shifted[a * PANEL_ROWS + r] = turned[a * PANEL_ROWS + r] - mean[k * d + a];
            for (ptrdiff_t r = 0; r < n_rows; r += ROW_VECS * LANES)
                squared_distances(shifted + r, precision_chol + k * d * d, d, square + r);
            double log_normalizer = log_det[k] - 0.5 * (double)d * LOG_2PI;
            for (ptrdiff_t r = 0; r < n_rows; r++) out[(i + r) * n_classes + k] += log_normalizer - 0.5 * square[r];
        }
    }
    free(turned);
    return ALL_VALID;
}

/* A tile of the scatter matrix is eight vectors. Nearly square ones leave out most of what is below the diagonal. */
enum { TILE_VECS = VECTOR_BYTES == 64 ? 1 : 2, TILE_A = 8 / TILE_VECS };
#define TILE_B (TILE_VECS * LANES)

/* Add, for each row of the panel, weighted^T shifted to one tile of the scatter matrix. */
static void add_scatter_tile(const double *weighted, const double *shifted, ptrdiff_t n_rows, ptrdiff_t width,
                             double *scatter) {
    vec sum[TILE_A][TILE_VECS];
    UNROLL
    for (int a = 0; a < TILE_A; a++) {
        UNROLL
        for (int v = 0; v < TILE_VECS; v++) sum[a][v] = splat(0.0);
    }
    for (ptrdiff_t r = 0; r < n_rows; r++) {
        vec cell[TILE_VECS];
        UNROLL
        for (int v = 0; v < TILE_VECS; v++) cell[v] = load(shifted + r * width + v * LANES);
        UNROLL
        for (int a = 0; a < TILE_A; a++) {
            vec w = splat(weighted[r * width + a]);
            UNROLL
            for (int v = 0; v < TILE_VECS; v++) sum[a][v] += w * cell[v];
        }
    }
    UNROLL
    for (int a = 0; a < TILE_A; a++) {
        UNROLL
        for (int v = 0; v < TILE_VECS; v++) {
            double *to = scatter + a * width + v * LANES;
            store(to, load(to) + sum[a][v]);
        }
    }
}

/* Only the tiles on and above the diagonal are computed. */
static void add_scatter(const double *weighted, const double *shifted, ptrdiff_t n_rows, ptrdiff_t width,
                        double *scatter) {
    for (ptrdiff_t a = 0; a < width; a += TILE_A)
        for (ptrdiff_t b = a - a % TILE_B; b < width; b += TILE_B)
            add_scatter_tile(weighted + a, shifted + b, n_rows, width, scatter + a * width + b);
}

/* Subtract the center from one row; the last vector overlaps the one before. */
INLINE void shift_row(const double *cell, const double *center, double row_weight, ptrdiff_t d, double *shifted,
                      double *weighted) {
    if (d < LANES) {
        for (ptrdiff_t a = 0; a < d; a++) weighted[a] = row_weight * (shifted[a] = cell[a] - center[a]);
        return;
    }
    for (ptrdiff_t a = 0; a < d; a += LANES) {
        ptrdiff_t at = a + LANES <= d ? a : d - LANES;
        vec difference = load(cell + at) - load(center + at);
        store(shifted + at, difference);
        store(weighted + at, difference * splat(row_weight));
    }
}

/* The next rows with a responsibility that is not zero, shifted, and the same times the responsibility. Rows are as
 * wide as a whole number of tiles; what lies beyond the last column stays zero. */
static ptrdiff_t take_rows(const struct dense *x, const double *resp, const double *center, ptrdiff_t n_classes,
                           ptrdiff_t width, ptrdiff_t *row, double *shifted, double *weighted, double *room) {
    ptrdiff_t n = 0, d = x->n_features;
    for (; *row < x->n_rows && n < PANEL_ROWS; (*row)++) {
        double w = resp[*row * n_classes];
        if (w == 0.0) continue;
        const double *cell = as_doubles(x->cells, x->type, *row * d, d, room);
        shift_row(cell, center, w, d, shifted + n * width, weighted + n * width);
        n++;
    }
    return n;
}

/* Sums of the columns, LANES columns at a time. */
static void add_column_sums(const double *weighted, ptrdiff_t n_rows, ptrdiff_t width, double *sums) {
    for (ptrdiff_t a = 0; a < width; a += LANES) {
        vec sum[4];
        UNROLL
        for (int v = 0; v < 4; v++) sum[v] = splat(0.0);
        ptrdiff_t r = 0;
        for (; r + 4 <= n_rows; r += 4) {
            UNROLL
            for (int v = 0; v < 4; v++) sum[v] += load(weighted + (r + v) * width + a);
        }
        for (; r < n_rows; r++) sum[0] += load(weighted + r * width + a);
        store(sums + a, load(sums + a) + (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

static ptrdiff_t full_moments(const struct dense *x, const double *resp, const double *center, ptrdiff_t n_classes,
                              struct moments out) {
    ptrdiff_t d = x->n_features, multiple = TILE_B > TILE_A ? TILE_B : TILE_A;
    ptrdiff_t width = (d + multiple - 1) / multiple * multiple;
    double *shifted = (double *)calloc((size_t)(width * (2 * PANEL_ROWS + width + 2)) + 1, sizeof *shifted);
    if (!shifted) return OUT_OF_MEMORY;
    double *weighted = shifted + width * PANEL_ROWS, *scatter = weighted + width * PANEL_ROWS;
    double *sums = scatter + width * width, *room = sums + width;
    for (ptrdiff_t k = 0; k < n_classes; k++) {
        memset(scatter, 0, (size_t)(width * (width + 1)) * sizeof *scatter);
        for (ptrdiff_t row = 0; row < x->n_rows;) {
            ptrdiff_t n = take_rows(x, resp + k, center + k * d, n_classes, width, &row, shifted, weighted, room);
            add_scatter(weighted, shifted, n, width, scatter);
            add_column_sums(weighted, n, width, sums);
        }
        for (ptrdiff_t a = 0; a < d; a++) out.sum[k * d + a] += sums[a];
        double *class_scatter = out.square + k * d * d;
        for (ptrdiff_t a = 0; a < d; a++)
            for (ptrdiff_t b = 0; b < d; b++)
                class_scatter[a * d + b] += scatter[a <= b ? a * width + b : b * width + a];
        double weight = 0.0;
        for (ptrdiff_t i = 0; i < x->n_rows; i++) weight += resp[i * n_classes + k];
        out.weight[k] += weight;
    }
    free(shifted);
    return ALL_VALID;
}
