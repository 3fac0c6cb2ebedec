/* Sorting the non-zeros of a chunk by column: a counting sort, rows staying in order within a column. */
#include "wrap.h"

#include <string.h>

#include "numbers.h"

enum { AT_ONCE = 512 };

/* What happens to each entry, in row order: first count it, then put it in its place. */
static int count_or_place(const struct sparse *x, struct word_space *space, int place) {
    int32_t positions[AT_ONCE];
    double values[AT_ONCE];
    for (ptrdiff_t i = 0; i < x->n_rows; i++) {
        ptrdiff_t stop = integer_at(x->indptr, x->indptr_type, i + 1);
        for (ptrdiff_t p = integer_at(x->indptr, x->indptr_type, i); p < stop; p += AT_ONCE) {
            ptrdiff_t n = stop - p < AT_ONCE ? stop - p : AT_ONCE;
            const int32_t *column = as_columns(x->indices, x->indices_type, p, n, positions);
            const double *value = x->data ? as_doubles(x->data, x->data_type, p, n, values) : NULL;
            for (ptrdiff_t e = 0; e < n; e++) {
                double count = value ? value[e] : 1.0;
                if (count == 0.0) continue;
                if (!place && !(count >= 0.0 && count <= 255.0 && count == (double)(uint8_t)count)) return 0;
                int32_t at = space->cursor[column[e]]++;
                if (!place) continue;
                space->rows[at] = (uint16_t)i;
                space->counts[at] = (uint8_t)count;
                space->has_counts |= count != 1.0;
            }
        }
    }
    return 1;
}

int softcount_sort_by_word(const struct sparse *x, struct word_space *space) {
    memset(space->cursor, 0, (size_t)x->n_features * sizeof *space->cursor);
    if (!count_or_place(x, space, 0)) return 0;
    int32_t start = 0;
    for (ptrdiff_t column = 0; column < x->n_features; column++) {
        int32_t n = space->cursor[column];
        if (n == 0) continue;
        space->words[space->n_words] = (int32_t)column;
        space->starts[space->n_words++] = start;
        space->cursor[column] = start;
        start += n;
    }
    space->starts[space->n_words] = start;
    space->n_entries = start;
    return count_or_place(x, space, 1);
}
