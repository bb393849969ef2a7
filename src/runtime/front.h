/* runtime/front.h - the public functions: they resolve handles, and pin objects while a call uses them. */
#ifndef DCLI_RUNTIME_FRONT_H
#define DCLI_RUNTIME_FRONT_H

#include <dcl.h>

#include "base/error.h"
#include "base/handle.h"
#include "kernel/body.h"

enum { DCLI_MOST_PINNED = 2 * DCLI_MAX_PARAMS + 4 };

/** A public call that has not returned yet. */
typedef struct dcli_call {
    struct dcli_call *outer; /* the call of the same thread whose callback makes this one */
    dcl_status status;       /* other than DCL_OK: a handle was refused, and the call does nothing */
    bool operates;           /* an operation: its error is also the cluster's */
    const void *cluster;     /* handle of the first pinned cluster; NULL: none yet */
    int count;
    const void *pinned[DCLI_MOST_PINNED]; /* pinned handles, clusters before their objects */
} dcli_call;

void dcli_call_begin(dcli_call *call, const char *function);
/** Begin a call that is an operation: refused handles, and NULLs that a constructor returned, are errors of the
 *  cluster, too. */
void dcli_call_begin_operation(dcli_call *call, const char *function);
/** The object of a parameter, pinned until the call ends. @return NULL: the handle is NULL, or was refused. */
void *dcli_call_cluster(dcli_call *call, const char *name, const dcl_cluster *cluster);
void *dcli_call_map(dcli_call *call, const char *name, const dcl_map *map);
void *dcli_call_array(dcli_call *call, const char *name, const dcl_array *array);
/** Copy the arguments of a body, with objects in place of handles. @param copy  [DCLI_MAX_PARAMS]. @return copy; `args`
 *  if their number is invalid. */
const dcl_arg *dcli_call_args(dcli_call *call, int count, const dcl_arg args[], dcl_arg copy[]);
/** End a call: unpin its objects. The error of an operation becomes the cluster's if a handle was refused, or is NULL
 *  because its constructor had failed. @return status. */
dcl_status dcli_call_end(dcli_call *call, dcl_status status);
/** End a constructor's call. @param object  NULL: it failed. @return the object's handle; NULL: it failed, or there is
 *  no handle for the object, which is then released. */
void *dcli_call_made(dcli_call *call, dcli_kind kind, void *object);
/** Whether an outer call of this thread has the cluster pinned. */
bool dcli_call_is_inside(const dcli_call *call, const void *cluster);

/** Unpin a handle, and free its object if the handle has ended meanwhile. */
void dcli_front_leave(const void *handle);
/** Drop a reference to a map, which remains pinned. */
void dcli_front_drop_map(const void *map);

/* Declare dcli_in_NAME, the function inside, for every public function dcl_NAME. */

#define DCLI_DECLARE_INSIDE(name) extern __typeof__(dcl_##name) dcli_in_##name;
DCLI_FRONT_FUNCTIONS(DCLI_DECLARE_INSIDE)

/* Rows of front_*.c: public functions that only resolve their handles, call the function inside with the objects, and
 * end.
 *   begins      OPERATES: an operation (dcli_call_begin_operation()); ASKS: anything else
 *   pins        the parameters that are handles: CLUSTER(name), MAP(name), ARRAY(name)
 *   parameters  as in the public header
 *   arguments   their names: of the function inside */

#define OPERATES dcli_call_begin_operation
#define ASKS dcli_call_begin
#define CLUSTER(name) name = dcli_call_cluster(&call, #name, name);
#define MAP(name) name = dcli_call_map(&call, #name, name);
#define ARRAY(name) name = dcli_call_array(&call, #name, name);

#define DCLI_PUBLIC(type, name, begins, pins, parameters, ...) \
    type dcl_##name parameters                                 \
    {                                                          \
        dcli_call call;                                        \
        begins(&call, __func__);                               \
        pins __VA_ARGS__                                       \
    }
/** Define a public function that returns a status. */
#define STATUS(name, begins, pins, parameters, arguments)   \
    DCLI_PUBLIC(dcl_status, name, begins, pins, parameters, \
                return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_##name arguments : call.status);)
/** Define a public function that makes a map or an array. */
#define MADE_MAP(name, begins, pins, parameters, arguments) \
    DCLI_PUBLIC(dcl_map *, name, begins, pins, parameters,  \
                return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_##name arguments : NULL);)
#define MADE_ARRAY(name, begins, pins, parameters, arguments) \
    DCLI_PUBLIC(dcl_array *, name, begins, pins, parameters,  \
                return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_##name arguments : NULL);)
/** Define a public function that returns something else. @param otherwise  the answer if a handle is refused. */
#define ANSWER(type, name, otherwise, pins, parameters, arguments)                          \
    DCLI_PUBLIC(type, name, ASKS, pins, parameters,                                         \
                type answer = call.status == DCL_OK ? dcli_in_##name arguments : otherwise; \
                dcli_call_end(&call, call.status); return answer;)

#endif
