/* The extension module: its list of functions, and the choice of the instruction-set level. */
#include "byte_lists.h"
#include "tokens.h"
#include "wrap.h"

#include <string.h>

extern const struct level softcount_plain, softcount_baseline, softcount_avx2;
extern struct level softcount_avx512;
void softcount_fill_avx512(void);

enum { MOST_LEVELS = 4 };

const struct level *softcount_level = &softcount_plain;

/* The levels that were compiled and that this processor can run, best first. */
static int list_levels(const struct level **levels) {
    int n = 0;
#ifdef SOFTCOUNT_HAS_AVX2
    __builtin_cpu_init();
#ifdef SOFTCOUNT_HAS_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
        levels[n++] = &softcount_avx512;
#endif
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) levels[n++] = &softcount_avx2;
#endif
#if defined(__GNUC__) || defined(__clang__)
    levels[n++] = &softcount_baseline;
#endif
    levels[n++] = &softcount_plain;
    return n;
}

static PyObject *levels(PyObject *module, PyObject *none) {
    const struct level *found[MOST_LEVELS];
    (void)module, (void)none;
    int n = list_levels(found);
    PyObject *names = PyTuple_New(n);
    for (int i = 0; names && i < n; i++) PyTuple_SetItem(names, i, PyUnicode_FromString(found[i]->name));
    return names;
}

static PyObject *level(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyUnicode_FromString(softcount_level->name);
}

static PyObject *use_level(PyObject *module, PyObject *name) {
    const struct level *found[MOST_LEVELS];
    (void)module;
    int n = list_levels(found);
    for (int i = 0; i < n; i++) {
        PyObject *its_name = PyUnicode_FromString(found[i]->name);
        int same = its_name ? PyObject_RichCompareBool(name, its_name, Py_EQ) : -1;
        Py_XDECREF(its_name);
        if (same < 0) return NULL;
        if (same) {
            softcount_level = found[i];
            Py_RETURN_NONE;
        }
    }
    return PyErr_Format(PyExc_ValueError, "This processor or build has no level %R; see levels().", name);
}

#define FAST(name, wrapper) {name, (PyCFunction)(void (*)(void))wrapper, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    {"levels", levels, METH_NOARGS, "Names of the instruction-set levels that can be used here, best first."},
    {"level", level, METH_NOARGS, "Name of the instruction-set level in use."},
    {"use_level", use_level, METH_O, "Use the level of this name; for tests, while no kernel is running."},
    FAST("csr_scores", wrap_csr_scores),
    FAST("csr_accumulate", wrap_csr_accumulate),
    FAST("csr_class_counts", wrap_csr_class_counts),
    FAST("csr_repeats", wrap_csr_repeats),
    FAST("csr_word_index", wrap_word_index),
    FAST("csr_accumulate_words", wrap_words_accumulate),
    FAST("codes_scores", wrap_codes_scores),
    FAST("codes_accumulate", wrap_codes_accumulate),
    FAST("codes_class_counts", wrap_codes_class_counts),
    FAST("codes_pass", wrap_codes_pass),
    FAST("dense_scores", wrap_dense_scores),
    FAST("dense_accumulate", wrap_dense_accumulate),
    FAST("dense_class_counts", wrap_dense_class_counts),
    FAST("gaussian_scores", wrap_gaussian_scores),
    FAST("gaussian_moments", wrap_gaussian_moments),
    FAST("gaussian_class_moments", wrap_gaussian_class_moments),
    FAST("gaussian_full_scores", wrap_full_scores),
    FAST("gaussian_full_moments", wrap_full_moments),
    FAST("logistic_score", wrap_logistic_score),
    FAST("normalize_rows", wrap_normalize_rows),
    FAST("number_range", wrap_number_range),
    {"new_vocabulary", wrap_new_vocabulary, METH_O, NULL},
    {"vocabulary_size", wrap_vocabulary_size, METH_O, NULL},
    FAST("vocabulary_words", wrap_vocabulary_words),
    FAST("add_words", wrap_add_words),
    FAST("count_tokens", wrap_count_tokens),
    FAST("sort_rows", wrap_sort_rows),
    FAST("sorted_words", wrap_sorted_words),
    FAST("split_lines", wrap_split_lines),
    FAST("text_lengths", wrap_text_lengths),
    FAST("join_ascii", wrap_join_ascii),
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module) {
    const struct level *found[MOST_LEVELS];
    (void)module;
#ifdef SOFTCOUNT_HAS_AVX512
    softcount_fill_avx512();
#endif
    list_levels(found);
    softcount_level = found[0];
    softcount_prepare_byte_lists();
    softcount_prepare_tokens();
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)start}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Compiled kernels over one chunk of rows; softcount.kernels.fallback says what each computes.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
