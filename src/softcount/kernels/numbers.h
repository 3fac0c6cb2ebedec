/* Reading numbers of any type as double, a few at a time. */
#ifndef SOFTCOUNT_NUMBERS_H
#define SOFTCOUNT_NUMBERS_H

#include "level.h"

#define COPY_AS(type, target)                                                    \
    do {                                                                         \
        const type *source = (const type *)array + start;                        \
        for (ptrdiff_t i = 0; i < n; i++) (target)[i] = source[i];               \
    } while (0)

static const double *convert(const void *array, enum number type, ptrdiff_t start, ptrdiff_t n, double *room) {
    switch (type) {
    case F32: COPY_AS(float, room); break;
    case I8: COPY_AS(int8_t, room); break;
    case U8: COPY_AS(uint8_t, room); break;
    case I16: COPY_AS(int16_t, room); break;
    case U16: COPY_AS(uint16_t, room); break;
    case I32: COPY_AS(int32_t, room); break;
    case U32: COPY_AS(uint32_t, room); break;
    case I64: for (ptrdiff_t i = 0; i < n; i++) room[i] = (double)((const int64_t *)array + start)[i]; break;
    case U64: for (ptrdiff_t i = 0; i < n; i++) room[i] = (double)((const uint64_t *)array + start)[i]; break;
    case F64: COPY_AS(double, room); break;
    }
    return room;
}

/* The n numbers from position `start` on: where they already lie, if they are doubles, else converted into `room`. */
static inline const double *as_doubles(const void *array, enum number type, ptrdiff_t start, ptrdiff_t n,
                                       double *room) {
    return type == F64 ? (const double *)array + start : convert(array, type, start, n, room);
}

/* The same for column numbers, which fit 32 bits once they are checked. */
static inline const int32_t *as_columns(const void *array, enum number type, ptrdiff_t start, ptrdiff_t n, int32_t *room) {
    if (type == I32) return (const int32_t *)array + start;
    const int64_t *source = (const int64_t *)array + start;
    for (ptrdiff_t i = 0; i < n; i++) room[i] = (int32_t)source[i];
    return room;
}

static inline ptrdiff_t integer_at(const void *array, enum number type, ptrdiff_t i) {
    return type == I32 ? (ptrdiff_t)((const int32_t *)array)[i] : (ptrdiff_t)((const int64_t *)array)[i];
}

#endif
