/* From Python arguments to checked C arrays. */
#include "arguments.h"

#include <stdarg.h>
#include <string.h>

int call_begin(struct call *call, const char *function, PyObject *const *args, Py_ssize_t n_args, int expected) {
    if (n_args != expected) {
        PyErr_Format(PyExc_TypeError, "%s() takes %d arguments, got %zd.", function, expected, n_args);
        return 0;
    }
    memset(call, 0, sizeof *call);
    call->function = function;
    call->args = args;
    return 1;
}

void fail(struct call *call, PyObject *exception, const char *format, ...) {
    if (call->failed) return;
    va_list values;
    va_start(values, format);
    PyErr_FormatV(exception, format, values);
    va_end(values);
    call->failed = 1;
}

/* The type a buffer's format letter stands for, by its size, because 'l' has 4 or 8 bytes; 0 if it is none of ours. */
static unsigned number_of(const char *format, Py_ssize_t item_size) {
    if (!format || *format == '\0' || format[1] != '\0') return 0;
    if (strchr("fd", *format)) return item_size == 8 ? F64 : F32;
    int is_signed = strchr("bhilqn", *format) != NULL;
    if (!is_signed && !strchr("?BHILQN", *format)) return 0;
    switch (item_size) {
    case 1: return is_signed ? I8 : U8;
    case 2: return is_signed ? I16 : U16;
    case 4: return is_signed ? I32 : U32;
    case 8: return is_signed ? I64 : U64;
    }
    return 0;
}

struct array *take(struct call *call, const char *name, unsigned types, int n_dims, enum access access) {
    struct array *array = &call->array[call->n_taken];
    PyObject *object = call->args[call->n_taken++];
    array->name = name;
    if (call->failed) return array;
    if (object == Py_None && (access == READ_OPTIONAL || access == WRITE_OPTIONAL)) return array;
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS;
    if (access == WRITE || access == WRITE_OPTIONAL) flags |= PyBUF_WRITABLE;
    if (!PyObject_CheckBuffer(object)) {
        fail(call, PyExc_TypeError, "%s: %s must be an array.", call->function, name);
        return array;
    }
    if (PyObject_GetBuffer(object, &array->view, flags) < 0) {
        PyErr_Clear();
        memset(&array->view, 0, sizeof array->view);
        fail(call, PyExc_ValueError, "%s: %s must be a C-contiguous array%s.", call->function, name,
             flags & PyBUF_WRITABLE ? " that can be written to" : "");
        return array;
    }
    Py_buffer *view = &array->view;
    unsigned type = number_of(view->format, view->itemsize);
    if (!(type & types)) {
        fail(call, PyExc_TypeError, "%s: %s has a dtype with the code '%s', which is not one of those expected.",
             call->function, name, view->format ? view->format : "B");
    } else if (view->ndim != n_dims) {
        fail(call, PyExc_ValueError, "%s: %s has %d dimensions, expected %d.", call->function, name, view->ndim,
             n_dims);
    } else if ((uintptr_t)view->buf % (uintptr_t)view->itemsize != 0 && view->len > 0) {
        fail(call, PyExc_ValueError, "%s: %s is not aligned in memory; pass a copy.", call->function, name);
    } else {
        array->data = view->buf;
        array->type = (enum number)type;
        for (int i = 0; i < n_dims; i++) array->shape[i] = view->shape[i];
    }
    return array;
}

Py_ssize_t take_size(struct call *call, const char *name) {
    PyObject *object = call->args[call->n_taken++];
    if (call->failed) return 0;
    Py_ssize_t size = PyLong_AsSsize_t(object);
    if (size == -1 && PyErr_Occurred()) {
        call->failed = 1;
        return 0;
    }
    if (size < 0) fail(call, PyExc_ValueError, "%s: %s is %zd, expected at least 0.", call->function, name, size);
    return size;
}

void expect(struct call *call, const struct array *array, int dimension, Py_ssize_t size) {
    if (call->failed || !array->data || array->shape[dimension] == size) return;
    fail(call, PyExc_ValueError, "%s: dimension %d of %s has shape %zd, expected %zd.", call->function, dimension,
         array->name, array->shape[dimension], size);
}

void expect_classes(struct call *call, const struct array *class_codes, Py_ssize_t n_classes) {
    if (call->failed) return;
    const int32_t *code = (const int32_t *)class_codes->data;
    for (Py_ssize_t i = 0; i < class_codes->shape[0]; i++)
        if (code[i] < -1 || code[i] >= n_classes) {
            fail(call, PyExc_IndexError, "%s[%zd] is %d, expected -1 (skip) .. %zd.", class_codes->name, i,
                 (int)code[i], n_classes - 1);
            return;
        }
}

PyObject *call_end(struct call *call) {
    for (int i = 0; i < call->n_taken; i++)
        if (call->array[i].view.obj) PyBuffer_Release(&call->array[i].view);
    if (call->failed) return NULL;
    Py_RETURN_NONE;
}
