/* Python functions that make lists of texts, and read them. */
#include <string.h>

#include "texts.h"
#include "wrap.h"

/* The next argument, which is a list; NULL if it is none. */
static PyObject *take_list(struct call *call, const char *name) {
    PyObject *list = call->args[call->n_taken++];
    if (!call->failed && !PyList_Check(list)) fail(call, PyExc_TypeError, "%s: %s must be a list.", call->function, name);
    return call->failed ? NULL : list;
}

/* Put the cells of one checked line into the columns' lists; 0 if some are no UTF-8. */
static int add_cells(PyObject *columns, Py_ssize_t line, const uint8_t *text, ptrdiff_t at, ptrdiff_t end,
                     uint8_t delimiter) {
    for (Py_ssize_t j = 0, n = PyList_Size(columns); j < n; j++) {
        ptrdiff_t stop = j + 1 < n ? softcount_find_byte(text, at, end, delimiter) : end;
        PyObject *cell = PyUnicode_DecodeUTF8((const char *)text + at, stop - at, NULL);
        if (!cell) return 0;
        PyList_SetItem(PyList_GetItem(columns, j), line, cell);
        at = stop + 1;
    }
    return 1;
}

/* A list with a list of so many places for each column. */
static PyObject *new_columns(Py_ssize_t n_columns, Py_ssize_t n_lines) {
    PyObject *columns = PyList_New(n_columns);
    for (Py_ssize_t j = 0; columns && j < n_columns; j++) {
        PyObject *column = PyList_New(n_lines);
        if (!column) Py_CLEAR(columns);
        else PyList_SetItem(columns, j, column);
    }
    return columns;
}

/* split_lines(text, delimiter, n_columns) -> the cells of every column, or None where a line takes a closer look. */
WRAPPER(wrap_split_lines) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "split_lines", args, n_args, 3)) return NULL;
    struct array *array = take(&call, "text", U8, 1, READ);
    Py_ssize_t code = take_size(&call, "delimiter"), n_columns = take_size(&call, "n_columns");
    if (!call.failed && (code > 0x7f || n_columns == 0))
        fail(&call, PyExc_ValueError, "split_lines: delimiter is %zd, expected a character of ASCII, and n_columns %zd.",
             code, n_columns);
    const uint8_t *text = (const uint8_t *)array->data, delimiter = (uint8_t)code;
    Py_ssize_t n_bytes = array->shape[0], n_lines = -1;
    if (!call.failed) WITHOUT_GIL(n_lines = softcount_count_lines(text, n_bytes, delimiter, n_columns))
    PyObject *columns = n_lines < 0 ? NULL : new_columns(n_columns, n_lines);
    if (n_lines >= 0 && !columns) call.failed = 1;
    for (Py_ssize_t line = 0, at = 0; columns && line < n_lines; line++) {
        Py_ssize_t end = softcount_find_byte(text, at, n_bytes, '\n'), next = end + 1;
        if (end < n_bytes && end > at && text[end - 1] == '\r') end--;
        if (!add_cells(columns, line, text, at, end, delimiter)) {
            /* Where the bytes are no text is told by those who take the closer look. */
            if (PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) PyErr_Clear();
            else call.failed = 1;
            Py_CLEAR(columns);
        }
        at = next;
    }
    PyObject *none = call_end(&call);
    if (!none || !columns) return none;
    Py_DECREF(none);
    return columns;
}

/* text_lengths(texts, lengths_out) -> the place of the first element that is no text, or -1. */
WRAPPER(wrap_text_lengths) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "text_lengths", args, n_args, 2)) return NULL;
    PyObject *texts = take_list(&call, "texts");
    struct array *lengths = take(&call, "lengths_out", I64, 1, WRITE);
    if (!call.failed) expect(&call, lengths, 0, PyList_Size(texts));
    Py_ssize_t wrong = -1;
    for (Py_ssize_t i = 0; !call.failed && wrong < 0 && i < lengths->shape[0]; i++) {
        PyObject *text = PyList_GetItem(texts, i);
        if (PyUnicode_Check(text)) ((int64_t *)lengths->data)[i] = PyUnicode_GetLength(text);
        else wrong = i;
    }
    PyObject *none = call_end(&call);
    if (!none) return NULL;
    Py_DECREF(none);
    return PyLong_FromSsize_t(wrong);
}

/* join_ascii(texts, start, lengths) -> the texts from place `start` on, as many as there are lengths, as one run of
 * bytes; None where one of them is not ASCII. */
WRAPPER(wrap_join_ascii) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "join_ascii", args, n_args, 3)) return NULL;
    PyObject *texts = take_list(&call, "texts");
    Py_ssize_t start = take_size(&call, "start"), total = 0;
    struct array *lengths = take(&call, "lengths", I64, 1, READ);
    Py_ssize_t n = lengths->shape[0];
    if (!call.failed && (start > PyList_Size(texts) || n > PyList_Size(texts) - start))
        fail(&call, PyExc_IndexError, "join_ascii: %zd texts from %zd on, of %zd.", n, start, PyList_Size(texts));
    for (Py_ssize_t i = 0; !call.failed && i < n; i++) {
        int64_t length = ((const int64_t *)lengths->data)[i];
        if (length < 0 || length > PY_SSIZE_T_MAX - total)
            fail(&call, PyExc_ValueError, "join_ascii: lengths[%zd] is %lld.", i, (long long)length);
        else total += (Py_ssize_t)length;
    }
    PyObject *joined = call.failed ? NULL : PyBytes_FromStringAndSize(NULL, total);
    if (!joined) call.failed = 1;
    char *to = joined ? PyBytes_AsString(joined) : NULL;
    for (Py_ssize_t i = 0; joined && i < n; i++) {
        PyObject *text = PyList_GetItem(texts, start + i);
        Py_ssize_t n_bytes = 0, length = (Py_ssize_t)((const int64_t *)lengths->data)[i];
        const char *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &n_bytes) : NULL;
        if (!bytes || n_bytes != length) {
            /* Surrogates have no UTF-8; other characters beyond ASCII take more bytes than there are characters. */
            PyErr_Clear();
            Py_CLEAR(joined);
        } else {
            memcpy(to, bytes, (size_t)n_bytes);
            to += n_bytes;
        }
    }
    PyObject *none = call_end(&call);
    if (!none || !joined) return none;
    Py_DECREF(none);
    return joined;
}
