/* worker/scalar.h - a scalar of a call in its own type, as kernels get it. */
#ifndef DCLI_WORKER_SCALAR_H
#define DCLI_WORKER_SCALAR_H

#include "kernel/body.h"

typedef union dcli_own_scalar {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
} dcli_own_scalar;

static inline void dcli_scalar_narrow(dcl_type type, dcli_scalar value, dcli_own_scalar *out)
{
    switch (type) {
    case DCL_INT8:
    case DCL_UINT8:
        out->i8 = (int8_t)value.u;
        break;
    case DCL_INT16:
    case DCL_UINT16:
        out->i16 = (int16_t)value.u;
        break;
    case DCL_INT32:
    case DCL_UINT32:
        out->i32 = (int32_t)value.u;
        break;
    case DCL_FLOAT:
        out->f32 = (float)value.f;
        break;
    default:
        out->i64 = value.i; /* a double is copied, too: all members share their bits */
        break;
    }
}

#endif
