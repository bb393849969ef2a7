/* base/sized.h - checks of structs whose size in the program may be smaller than in the library: see "Sizes of structs"
 * in dcl/base.h. */
#ifndef DCLI_BASE_SIZED_H
#define DCLI_BASE_SIZED_H

#include <stddef.h>
#include <string.h>

#include <dcl/base.h>

#include "base/error.h"

/** Check the size that a struct has in the program.
 *  @param what  the parameter or field that contains the size.
 *  @param type  name of the struct.
 *  @param known  its size in the library.
 *  @return DCL_OK, or DCL_ERR_INVALID. */
static inline dcl_status dcli_size_check(const char *what, const char *type, size_t bytes, size_t known)
{
    if (bytes >= sizeof(size_t) && bytes <= known)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "%s is %zu; expected sizeof(%s), %zu at most; build against the headers of the library that is "
                     "loaded (%s)",
                     what, bytes, type, known, DCL_VERSION);
}

#endif
