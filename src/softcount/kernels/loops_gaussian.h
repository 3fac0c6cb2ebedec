/* Gaussian cells with independent columns; a NaN cell is missing and adds nothing. */
#include <stdlib.h>

#include "loops_panel.h"

#define LOG_2PI 1.83787706640934548356

/* Per class and row: the sum of p (x - m)^2 and of the log-normalizers over the observed cells. */
struct log_density {
    double square[PANEL_ROWS], log_normalizer[PANEL_ROWS];
};

/* The parameters of one class for the columns of a panel; `whole` is the sum of its log-normalizers. */
struct class_columns {
    const double *mean, *precision, *log_normalizer;
    ptrdiff_t stride;
    double whole;
};

/* `vecs` vectors of rows, from row r of the panel on. */
INLINE void add_columns(const struct panel *panel, struct class_columns of, ptrdiff_t r, struct log_density *out,
                        const int vecs, const int has_missing) {
    vec square[8];
    UNROLL
    for (int v = 0; v < vecs; v++) square[v] = load(out->square + r + v * LANES);
    for (ptrdiff_t c = 0; c < panel->n_columns; c++) {
        const double *cell = panel->cell[c] + r;
        vec m = splat(of.mean[c * of.stride]), p = splat(of.precision[c * of.stride]);
        UNROLL
        for (int v = 0; v < vecs; v++) {
            vec x = load(cell + v * LANES), shifted = x - m;
            if (has_missing) {
                bits observed = MASK(x == x);
                double *sum = out->log_normalizer + r + v * LANES;
                square[v] += as_vec(as_bits(shifted * p * shifted) & observed);
                store(sum, load(sum) + as_vec(as_bits(splat(of.log_normalizer[c * of.stride])) & observed));
            } else {
                square[v] += shifted * p * shifted;
            }
        }
    }
    UNROLL
    for (int v = 0; v < vecs; v++) {
        double *sum = out->log_normalizer + r + v * LANES;
        if (!has_missing) store(sum, load(sum) + splat(of.whole));
        store(out->square + r + v * LANES, square[v]);
    }
}

static void add_panel(const struct panel *panel, struct class_columns of, struct log_density *out) {
    ptrdiff_t r = 0;
    if (panel->has_missing) {
        for (; r < panel->n_rows; r += LANES) add_columns(panel, of, r, out, 1, 1);
        return;
    }
    for (; panel->n_rows - r > 4 * LANES; r += 8 * LANES) add_columns(panel, of, r, out, 8, 0);
    for (; r < panel->n_rows; r += LANES) add_columns(panel, of, r, out, 1, 0);
}

/* Log-normalizer of each cell, followed by their sums over the columns of each panel. */
static double *log_normalizers(const double *precision, ptrdiff_t d, ptrdiff_t n_classes) {
    ptrdiff_t n_panels = (d + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    double *cell = (double *)calloc((size_t)((d + n_panels) * n_classes) + 1, sizeof *cell);
    for (ptrdiff_t j = 0; cell && j < d; j++)
        for (ptrdiff_t k = 0; k < n_classes; k++) {
            cell[j * n_classes + k] = 0.5 * (log(precision[j * n_classes + k]) - LOG_2PI);
            cell[(d + j / PANEL_COLUMNS) * n_classes + k] += cell[j * n_classes + k];
        }
    return cell;
}

static ptrdiff_t gaussian_scores(const struct dense *x, const double *mean, const double *precision,
                                 ptrdiff_t n_classes, double *out) {
    struct panel panel;
    double *log_normalizer = log_normalizers(precision, x->n_features, n_classes);
    struct log_density *density = (struct log_density *)malloc(((size_t)n_classes + 1) * sizeof *density);
    if (!log_normalizer || !density) {
        free(log_normalizer);
        free(density);
        return OUT_OF_MEMORY;
    }
    const double *whole = log_normalizer + x->n_features * n_classes;
    for (ptrdiff_t i = 0; i < x->n_rows; i += PANEL_ROWS) {
        memset(density, 0, (size_t)n_classes * sizeof *density);
        for (ptrdiff_t j = 0; j < x->n_features; j += PANEL_COLUMNS) {
            fill_panel(&panel, x, i, j);
            for (ptrdiff_t k = 0; k < n_classes; k++) {
                ptrdiff_t at = j * n_classes + k;
                struct class_columns of = {mean + at, precision + at, log_normalizer + at, n_classes,
                                           whole[j / PANEL_COLUMNS * n_classes + k]};
                add_panel(&panel, of, density + k);
            }
        }
        ptrdiff_t n_rows = x->n_rows - i < PANEL_ROWS ? x->n_rows - i : PANEL_ROWS;
        for (ptrdiff_t r = 0; r < n_rows; r++)
            for (ptrdiff_t k = 0; k < n_classes; k++)
                out[(i + r) * n_classes + k] += density[k].log_normalizer[r] - 0.5 * density[k].square[r];
    }
    free(log_normalizer);
    free(density);
    return ALL_VALID;
}

/* Moments of one column in one class over the rows of a panel. */
static void add_moments(const double *cell, const double *resp, double center, int has_missing, double *weight,
                        double *sum, double *square) {
    const vec none = splat(0.0), c = splat(center);
    vec weights[2] = {none, none}, sums[2] = {none, none}, squares[2] = {none, none};
    for (ptrdiff_t r = 0; r < PANEL_ROWS; r += 2 * LANES) {
        UNROLL
        for (int half = 0; half < 2; half++) {
            vec x = load(cell + r + half * LANES), w = load(resp + r + half * LANES), shifted = x - c;
            if (has_missing) {
                bits observed = MASK(x == x);
                shifted = as_vec(as_bits(shifted) & observed);
                weights[half] += as_vec(as_bits(w) & observed);
            }
            vec weighted = w * shifted;
            sums[half] += weighted;
            squares[half] += weighted * shifted;
        }
    }
    *sum += sum_lanes(sums[0] + sums[1]);
    *square += sum_lanes(squares[0] + squares[1]);
    if (has_missing) *weight += sum_lanes(weights[0] + weights[1]);
}

static ptrdiff_t gaussian_moments(const struct dense *x, const double *resp, const double *center,
                                  ptrdiff_t n_classes, struct moments out) {
    struct panel panel;
    double *turned = (double *)calloc((size_t)(n_classes * (PANEL_ROWS + 1)) + 1, sizeof *turned);
    if (!turned) return OUT_OF_MEMORY;
    double *class_weight = turned + n_classes * PANEL_ROWS;
    for (ptrdiff_t i = 0; i < x->n_rows; i += PANEL_ROWS) {
        ptrdiff_t n_rows = x->n_rows - i < PANEL_ROWS ? x->n_rows - i : PANEL_ROWS;
        if (n_rows < PANEL_ROWS) memset(turned, 0, (size_t)(n_classes * PANEL_ROWS) * sizeof *turned);
        turn(resp + i * n_classes, n_classes, n_rows, n_classes, turned, PANEL_ROWS);
        for (ptrdiff_t k = 0; k < n_classes; k++) {
            vec weight = load(turned + k * PANEL_ROWS);
            for (ptrdiff_t v = 1; v < PANEL_VECS; v++) weight += load(turned + k * PANEL_ROWS + v * LANES);
            class_weight[k] = sum_lanes(weight);
        }
        for (ptrdiff_t j = 0; j < x->n_features; j += PANEL_COLUMNS) {
            fill_panel(&panel, x, i, j);
            for (ptrdiff_t c = 0; c < panel.n_columns; c++)
                for (ptrdiff_t k = 0; k < n_classes; k++) {
                    ptrdiff_t at = (j + c) * n_classes + k;
                    const double *column_resp = turned + k * PANEL_ROWS;
                    add_moments(panel.cell[c], column_resp, center[at], panel.has_missing, out.weight + at,
                                out.sum + at, out.square + at);
                    if (!panel.has_missing) out.weight[at] += class_weight[k];
                }
        }
    }
    free(turned);
    return ALL_VALID;
}

/* One piece of a row into the sums of its class; the answer is whether a cell of the piece is missing. */
static int add_row_moments(const double *cell, const double *center, double row_weight, ptrdiff_t n, double *sum,
                           double *square) {
    vec w = splat(row_weight);
    bits missing = {0};
    ptrdiff_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vec x = load(cell + j), shifted = x - load(center + j);
        bits hole = MASK(x != x);
        missing |= hole;
        shifted = as_vec(as_bits(shifted) & ~hole);
        vec weighted = w * shifted;
        store(sum + j, load(sum + j) + weighted);
        store(square + j, load(square + j) + weighted * shifted);
    }
    int has_missing = lane_mask(missing) != 0;
    for (; j < n; j++) {
        double shifted = cell[j] == cell[j] ? cell[j] - center[j] : 0.0;
        has_missing |= cell[j] != cell[j];
        sum[j] += row_weight * shifted;
        square[j] += row_weight * shifted * shifted;
    }
    return has_missing;
}

/* Whole rows are added to the sums of their class, which lie one class after the other until all rows are done. A row
 * without holes adds its weight once for all columns. */
static ptrdiff_t gaussian_class_moments(const struct dense *x, const int32_t *class_codes, const double *weight,
                                        const double *center, ptrdiff_t n_classes, struct moments out) {
    enum { ROOM = 1024 };
    double room[ROOM];
    ptrdiff_t d = x->n_features, size = d * n_classes, pieces = (d + ROOM - 1) / ROOM;
    double *scratch = (double *)calloc((size_t)(4 * size + pieces * n_classes) + 1, sizeof *scratch);
    if (!scratch) return OUT_OF_MEMORY;
    double *centers = scratch, *observed = scratch + size, *sum = scratch + 2 * size, *square = scratch + 3 * size,
           *whole = scratch + 4 * size;
    for (ptrdiff_t j = 0; j < d; j++)
        for (ptrdiff_t k = 0; k < n_classes; k++) centers[k * d + j] = center[j * n_classes + k];
    for (ptrdiff_t i = 0; i < x->n_rows; i++) {
        ptrdiff_t k = class_codes[i];
        double row_weight = weight ? weight[i] : 1.0;
        if (k < 0 || row_weight == 0.0) continue;
        for (ptrdiff_t piece = 0; piece < pieces; piece++) {
            ptrdiff_t j = piece * ROOM, n = d - j < ROOM ? d - j : ROOM, at = k * d + j;
            const double *cell = as_doubles(x->cells, x->type, i * d + j, n, room);
            if (!add_row_moments(cell, centers + at, row_weight, n, sum + at, square + at))
                whole[piece * n_classes + k] += row_weight;
            else
                for (ptrdiff_t e = 0; e < n; e++) observed[at + e] += cell[e] == cell[e] ? row_weight : 0.0;
        }
    }
    for (ptrdiff_t j = 0; j < d; j++)
        for (ptrdiff_t k = 0; k < n_classes; k++) {
            ptrdiff_t to = j * n_classes + k, from = k * d + j;
            out.weight[to] += whole[j / ROOM * n_classes + k] + observed[from];
            out.sum[to] += sum[from];
            out.square[to] += square[from];
        }
    free(scratch);
    return ALL_VALID;
}
