/* Python functions for counting words in text. A vocabulary is handed around as a capsule. */
#include <string.h>

#include "texts.h"
#include "tokens.h"
#include "wrap.h"

static const char vocabulary_name[] = "softcount.kernels.vocabulary";

static void free_capsule(PyObject *capsule) {
    struct vocabulary *words = (struct vocabulary *)PyCapsule_GetPointer(capsule, vocabulary_name);
    if (words) softcount_free_vocabulary(words);
}

/* new_vocabulary(seed) */
PyObject *wrap_new_vocabulary(PyObject *module, PyObject *seed) {
    (void)module;
    unsigned long long number = PyLong_AsUnsignedLongLong(seed);
    if (PyErr_Occurred()) return NULL;
    struct vocabulary *words = softcount_new_vocabulary(number);
    if (!words) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(words, vocabulary_name, free_capsule);
    if (!capsule) softcount_free_vocabulary(words);
    return capsule;
}

/* The vocabulary of a capsule, if nobody is writing to it, or reading when it is to be written. */
static struct vocabulary *take_vocabulary(struct call *call, int to_write) {
    PyObject *capsule = call->args[call->n_taken++];
    if (call->failed) return NULL;
    struct vocabulary *words = (struct vocabulary *)PyCapsule_GetPointer(capsule, vocabulary_name);
    if (!words) call->failed = 1;
    else if (words->writers || (to_write && words->readers))
        fail(call, PyExc_RuntimeError, "%s: another thread is using the vocabulary.", call->function);
    return call->failed ? NULL : words;
}

static void begin_use(struct vocabulary *words, int to_write) { *(to_write ? &words->writers : &words->readers) += 1; }

static void end_use(struct vocabulary *words, int to_write) { *(to_write ? &words->writers : &words->readers) -= 1; }

/* vocabulary_size(vocabulary) -> how many words it has. */
PyObject *wrap_vocabulary_size(PyObject *module, PyObject *capsule) {
    struct call call;
    PyObject *args[] = {capsule};
    (void)module;
    if (!call_begin(&call, "vocabulary_size", args, 1, 1)) return NULL;
    struct vocabulary *words = take_vocabulary(&call, 0);
    return call.failed ? NULL : PyLong_FromSsize_t(words->n_words);
}

/* The words with these numbers, or all in order of their numbers where `order` is NULL, each followed by a line feed. */
static PyObject *lines_of(const struct vocabulary *words, const int32_t *order) {
    Py_ssize_t n_bytes = words->n_words == 0 ? 0 : (Py_ssize_t)words->ends[words->n_words - 1];
    PyObject *lines = PyBytes_FromStringAndSize(NULL, n_bytes + words->n_words);
    if (!lines) return NULL;
    char *to = PyBytes_AsString(lines);
    for (ptrdiff_t i = 0; i < words->n_words; i++) {
        ptrdiff_t word = order ? order[i] : i, start = word == 0 ? 0 : words->ends[word - 1];
        memcpy(to, words->bytes + start, (size_t)(words->ends[word] - start));
        to += words->ends[word] - start;
        *to++ = '\n';
    }
    return lines;
}

/* vocabulary_words(vocabulary) -> bytes: the words in order of their numbers, each followed by a line feed. */
WRAPPER(wrap_vocabulary_words) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "vocabulary_words", args, n_args, 1)) return NULL;
    struct vocabulary *words = take_vocabulary(&call, 0);
    return call.failed ? NULL : lines_of(words, NULL);
}

/* sorted_words(vocabulary, columns_out) -> bytes: the words in alphabetical order, each followed by a line feed. The
 * place that word number w has there is written into columns_out[w]. */
WRAPPER(wrap_sorted_words) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "sorted_words", args, n_args, 2)) return NULL;
    struct vocabulary *words = take_vocabulary(&call, 0);
    struct array *columns = take(&call, "columns_out", I32, 1, WRITE);
    if (!call.failed) expect(&call, columns, 0, words->n_words);
    int32_t *order = call.failed ? NULL : (int32_t *)PyMem_Malloc(sizeof *order * ((size_t)words->n_words + 1));
    int done = 0;
    if (order) {
        begin_use(words, 0);
        WITHOUT_GIL(done = softcount_order_words(words->bytes, words->ends, words->n_words, order))
        end_use(words, 0);
    }
    PyObject *lines = done ? lines_of(words, order) : NULL;
    if (!done) fail(&call, PyExc_MemoryError, "sorted_words: no memory for the order of the words.");
    else if (!lines) call.failed = 1;
    for (Py_ssize_t i = 0; lines && i < columns->shape[0]; i++) ((int32_t *)columns->data)[order[i]] = (int32_t)i;
    PyMem_Free(order);
    PyObject *none = call_end(&call);
    if (!none) return NULL;
    Py_DECREF(none);
    return lines;
}

/* add_words(vocabulary, lines, numbers_out): add the words, one per line, and say which number each has. */
WRAPPER(wrap_add_words) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "add_words", args, n_args, 3)) return NULL;
    struct vocabulary *words = take_vocabulary(&call, 1);
    struct array *lines = take(&call, "lines", U8, 1, READ), *numbers = take(&call, "numbers_out", I32, 1, WRITE);
    if (call.failed) return call_end(&call);
    const uint8_t *bytes = (const uint8_t *)lines->data;
    Py_ssize_t n = 0, start = 0;
    for (Py_ssize_t at = 0; at < lines->shape[0] && !call.failed; at++) {
        if (bytes[at] != '\n') continue;
        ptrdiff_t number = n < numbers->shape[0] ? softcount_word_number(words, bytes + start, at - start, 1) : -1;
        if (number == -2) fail(&call, PyExc_MemoryError, "add_words: no memory for the vocabulary.");
        if (number >= 0) ((int32_t *)numbers->data)[n] = (int32_t)number;
        start = at + 1;
        n++;
    }
    if (n != numbers->shape[0])
        fail(&call, PyExc_ValueError, "add_words: %zd lines, but room for %zd numbers.", n, numbers->shape[0]);
    return call_end(&call);
}

/* count_tokens(vocabulary, text, ends, characters, add, numbers_out, counts_out, row_ends_out) -> number of entries */
WRAPPER(wrap_count_tokens) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "count_tokens", args, n_args, 8)) return NULL;
    int add = n_args == 8 && PyObject_IsTrue(args[4]) > 0;
    struct vocabulary *words = take_vocabulary(&call, add);
    struct array *text = take(&call, "text", U8, 1, READ), *ends = take(&call, "ends", I64, 1, READ);
    struct array *characters = take(&call, "characters", U32, 1, READ_OPTIONAL);
    call.n_taken++;
    struct array *numbers = take(&call, "numbers_out", I32, 1, WRITE);
    struct array *counts = take(&call, "counts_out", I32, 1, WRITE);
    struct array *row_ends = take(&call, "row_ends_out", I64, 1, WRITE);
    expect(&call, characters, 0, N_CODE_POINTS);
    expect(&call, counts, 0, numbers->shape[0]);
    expect(&call, row_ends, 0, ends->shape[0]);
    int64_t before = 0;
    for (Py_ssize_t i = 0; !call.failed && i < ends->shape[0]; i++) {
        int64_t end = ((const int64_t *)ends->data)[i];
        if (end < before || end > text->shape[0])
            fail(&call, PyExc_ValueError, "count_tokens: ends[%zd] is %lld, expected %lld .. %zd.", i, (long long)end,
                 (long long)before, text->shape[0]);
        before = end;
    }
    if (!call.failed && (numbers->shape[0] < text->shape[0] / 3 + ends->shape[0] || numbers->shape[0] > INT32_MAX))
        fail(&call, PyExc_ValueError, "count_tokens: numbers_out has %zd entries, expected one per 3 bytes of text.",
             numbers->shape[0]);
    if (call.failed) return call_end(&call);
    struct documents documents = {text->data, characters->data, ends->data, ends->shape[0]};
    struct token_counts out = {numbers->data, counts->data, row_ends->data};
    Py_ssize_t n_entries;
    begin_use(words, add);
    WITHOUT_GIL(n_entries = softcount_count_tokens(words, &documents, add, &out))
    end_use(words, add);
    if (n_entries == -2) fail(&call, PyExc_MemoryError, "count_tokens: no memory for the vocabulary.");
    PyObject *none = call_end(&call);
    if (!none) return NULL;
    Py_DECREF(none);
    return PyLong_FromSsize_t(n_entries);
}

/* sort_rows(indptr, numbers, counts, column_of, indices_out, data_out) */
WRAPPER(wrap_sort_rows) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "sort_rows", args, n_args, 6)) return NULL;
    struct array *indptr = take(&call, "indptr", I64, 1, READ), *numbers = take(&call, "numbers", I32, 1, READ);
    struct array *counts = take(&call, "counts", I32, 1, READ), *column_of = take(&call, "column_of", I32, 1, READ);
    struct array *indices = take(&call, "indices_out", I32, 1, WRITE), *data = take(&call, "data_out", I64, 1, WRITE);
    Py_ssize_t n = numbers->shape[0], n_rows = indptr->shape[0] - 1, longest = 0;
    expect(&call, counts, 0, n);
    expect(&call, indices, 0, n);
    expect(&call, data, 0, n);
    for (Py_ssize_t i = 0; !call.failed && i < n_rows; i++) {
        const int64_t *at = (const int64_t *)indptr->data + i;
        if (at[0] < 0 || at[1] < at[0] || at[1] > n)
            fail(&call, PyExc_ValueError, "sort_rows: row %zd is %lld .. %lld.", i, (long long)at[0], (long long)at[1]);
        else if (at[1] - at[0] > longest) longest = (Py_ssize_t)(at[1] - at[0]);
    }
    for (Py_ssize_t p = 0; !call.failed && p < n; p++) {
        int32_t number = ((const int32_t *)numbers->data)[p];
        if (number < 0 || number >= column_of->shape[0])
            fail(&call, PyExc_IndexError, "sort_rows: numbers[%zd] is %d.", p, (int)number);
    }
    uint64_t *room = call.failed ? NULL : (uint64_t *)PyMem_Malloc(sizeof *room * (2 * (size_t)longest + 1));
    if (!room) fail(&call, PyExc_MemoryError, "sort_rows: no memory for a row.");
    if (!call.failed)
        WITHOUT_GIL(softcount_sort_rows(indptr->data, n_rows, numbers->data, counts->data, column_of->data,
                                        indices->data, data->data, room))
    PyMem_Free(room);
    return call_end(&call);
}
