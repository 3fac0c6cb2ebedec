/* The functions that module.c offers to Python. */
#ifndef SOFTCOUNT_WRAP_H
#define SOFTCOUNT_WRAP_H

#include "arguments.h"

#define WRAPPER(name) PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t n_args)

WRAPPER(wrap_csr_scores);
WRAPPER(wrap_csr_accumulate);
WRAPPER(wrap_csr_class_counts);
WRAPPER(wrap_csr_repeats);
WRAPPER(wrap_word_index);
WRAPPER(wrap_words_accumulate);
WRAPPER(wrap_codes_scores);
WRAPPER(wrap_codes_accumulate);
WRAPPER(wrap_codes_class_counts);
WRAPPER(wrap_codes_pass);
WRAPPER(wrap_dense_scores);
WRAPPER(wrap_dense_accumulate);
WRAPPER(wrap_dense_class_counts);
WRAPPER(wrap_gaussian_scores);
WRAPPER(wrap_gaussian_moments);
WRAPPER(wrap_gaussian_class_moments);
WRAPPER(wrap_full_scores);
WRAPPER(wrap_full_moments);
WRAPPER(wrap_logistic_score);
WRAPPER(wrap_normalize_rows);
WRAPPER(wrap_number_range);
PyObject *wrap_new_vocabulary(PyObject *module, PyObject *seed);
PyObject *wrap_vocabulary_size(PyObject *module, PyObject *capsule);
WRAPPER(wrap_vocabulary_words);
WRAPPER(wrap_add_words);
WRAPPER(wrap_count_tokens);
WRAPPER(wrap_sort_rows);
WRAPPER(wrap_sorted_words);
WRAPPER(wrap_split_lines);
WRAPPER(wrap_text_lengths);
WRAPPER(wrap_join_ascii);

/* Where the column-sorted index of a chunk is written, and what came out. */
struct word_space {
    int32_t *cursor, *words, *starts;
    uint16_t *rows;
    uint8_t *counts;
    ptrdiff_t n_words, n_entries;
    int has_counts;
};

/* Sort a checked chunk by column; 0 if a value is not a whole number from 0 to 255. */
int softcount_sort_by_word(const struct sparse *x, struct word_space *space);

#endif
