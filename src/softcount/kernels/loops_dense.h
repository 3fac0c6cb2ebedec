/* Dense binary and count rows, of which most cells are usually zero: only the others are listed and counted. */
#include <stdlib.h>

#include "loops_rows.h"

/* List the cells of n cells from `start` on that are neither zero nor NaN; positions count from `first`. */
static struct list list_nonzero(const struct dense *x, ptrdiff_t start, ptrdiff_t first, ptrdiff_t n,
                                int32_t *positions, double *values) {
    struct list list = {positions, values, 0, 0};
    if (x->type == U8 || x->type == I8) {
        /* Bytes are looked at eight at a time: where all are zero, nothing more is to be done. */
        const uint8_t *cell = (const uint8_t *)x->cells + start;
        uint8_t seen = 0;
        for (ptrdiff_t j = 0; j < n; j += 8) {
            ptrdiff_t end = j + 8 < n ? j + 8 : n;
            uint64_t eight = 1;
            if (j + 8 <= n) memcpy(&eight, cell + j, 8);
            for (ptrdiff_t e = j; eight != 0 && e < end; e++) {
                positions[list.n] = (int32_t)(first + e);
                values[list.n] = x->type == U8 ? (double)cell[e] : (double)(int8_t)cell[e];
                list.n += cell[e] != 0;
                seen |= cell[e];
            }
        }
        if (seen <= 1) list.value = NULL;
        list.n_readable = list.n;
        return list;
    }
    double room[LIST_ROOM];
    const double *cell = as_doubles(x->cells, x->type, start, n, room);
    int all_ones = 1;
    for (ptrdiff_t j = 0; j < n; j++) {
        double value = cell[j];
        int listed = (value != 0.0) & (value == value);
        positions[list.n] = (int32_t)(first + j);
        values[list.n] = value;
        list.n += listed;
        all_ones &= !listed | (value == 1.0);
    }
    if (all_ones) list.value = NULL;
    list.n_readable = list.n;
    return list;
}

/* Add the table rows of one list to one row of out. */
struct list_job {
    struct list list;
    const double *table;
    double *out;
};

INLINE void gather_block(const struct list_job *job, struct block block, const int shape) {
    gather(job->list, job->table + block.first, block, job->out + block.first, shape);
}
FOR_ALL_SHAPES(gather_block, list_job)

static ptrdiff_t dense_scores(const struct dense *x, const double *table, ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    double values[LIST_ROOM];
    for (ptrdiff_t i = 0; i < x->n_rows; i++)
        for (ptrdiff_t j = 0; j < x->n_features; j += LIST_ROOM) {
            ptrdiff_t n = x->n_features - j < LIST_ROOM ? x->n_features - j : LIST_ROOM;
            struct list list = list_nonzero(x, i * x->n_features + j, j, n, positions, values);
            struct list_job job = {list, table, out + i * n_classes};
            gather_block_all(&job, n_classes);
        }
    return ALL_VALID;
}

/* Counting goes column by column within a tile of rows and columns: the tile is first turned into one list of rows
 * per column, and the responsibilities of its rows stay in the cache while the lists are summed. */
#define TILE_ROWS 256
#define TILE_COLUMNS 64

struct tile {
    ptrdiff_t n[TILE_COLUMNS];
    int weighted;
    int32_t rows[TILE_COLUMNS][TILE_ROWS];
    double values[TILE_COLUMNS][TILE_ROWS];
};

static void fill_tile(const struct dense *x, ptrdiff_t i, ptrdiff_t n_rows, ptrdiff_t j, ptrdiff_t n_columns,
                      struct tile *tile) {
    int32_t positions[TILE_COLUMNS];
    double values[TILE_COLUMNS];
    memset(tile->n, 0, sizeof tile->n);
    tile->weighted = 0;
    for (ptrdiff_t r = 0; r < n_rows; r++) {
        struct list list = list_nonzero(x, (i + r) * x->n_features + j, 0, n_columns, positions, values);
        tile->weighted |= list.value != NULL;
        for (ptrdiff_t p = 0; p < list.n; p++) {
            ptrdiff_t column = positions[p], end = tile->n[column]++;
            tile->rows[column][end] = (int32_t)r;
            tile->values[column][end] = values[p];
        }
    }
}

static ptrdiff_t dense_accumulate(const struct dense *x, const double *resp, ptrdiff_t n_classes, double *out) {
    struct tile *tile = (struct tile *)malloc(sizeof *tile);
    if (!tile) return OUT_OF_MEMORY;
    for (ptrdiff_t i = 0; i < x->n_rows; i += TILE_ROWS)
        for (ptrdiff_t j = 0; j < x->n_features; j += TILE_COLUMNS) {
            ptrdiff_t n_rows = x->n_rows - i < TILE_ROWS ? x->n_rows - i : TILE_ROWS;
            ptrdiff_t n_columns = x->n_features - j < TILE_COLUMNS ? x->n_features - j : TILE_COLUMNS;
            fill_tile(x, i, n_rows, j, n_columns, tile);
            for (ptrdiff_t c = 0; c < n_columns; c++) {
                struct list list = {tile->rows[c], tile->weighted ? tile->values[c] : NULL, tile->n[c], tile->n[c]};
                struct list_job job = {list, resp + i * n_classes, out + (j + c) * n_classes};
                gather_block_all(&job, n_classes);
            }
        }
    free(tile);
    return ALL_VALID;
}

/* Whole rows are added to the sums of their class, which lie one class after the other until all rows are done. */
static ptrdiff_t dense_class_counts(const struct dense *x, const int32_t *class_codes, const double *weight,
                                    ptrdiff_t n_classes, double *out) {
    double room[LIST_ROOM];
    ptrdiff_t d = x->n_features;
    double *by_class = (double *)calloc((size_t)(n_classes * d) + 1, sizeof *by_class);
    if (!by_class) return OUT_OF_MEMORY;
    for (ptrdiff_t i = 0; i < x->n_rows; i++) {
        if (class_codes[i] < 0) continue;
        double row_weight = weight ? weight[i] : 1.0;
        for (ptrdiff_t j = 0; j < d; j += LIST_ROOM) {
            ptrdiff_t n = d - j < LIST_ROOM ? d - j : LIST_ROOM;
            const double *cell = as_doubles(x->cells, x->type, i * d + j, n, room);
            double *sum = by_class + class_codes[i] * d + j;
            for (ptrdiff_t e = 0; e < n; e++) sum[e] += cell[e] == cell[e] ? row_weight * cell[e] : 0.0;
        }
    }
    for (ptrdiff_t j = 0; j < d; j++)
        for (ptrdiff_t k = 0; k < n_classes; k++) out[j * n_classes + k] += by_class[k * d + j];
    free(by_class);
    return ALL_VALID;
}
