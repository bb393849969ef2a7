/* worker/kernels.h - the bodies that a peer knows, by number, and their programs on its device. Used by the thread of its
 * peer. */
#ifndef DCLI_WORKER_KERNELS_H
#define DCLI_WORKER_KERNELS_H

#include "device/device.h"
#include "net/message.h"
#include "worker/cost.h"
#include "worker/parsed.h"

/** A body, and its program on this node's device once it was needed. */
typedef struct dcli_kernel {
    int64_t number;
    const dcli_body *body;        /* with a use in dcli_parsed */
    bool shapes[DCLI_MAX_PARAMS]; /* scalars that stand in subscripts: the others do not matter to plans */
    dcli_program *program;   /* given back when it was not used for long and there are many: it is then built again */
    int64_t used;            /* the last operation that built or ran it here */
    dcl_status build_status; /* of the last attempt */
    char *build_problem;     /* sentence, when it failed */
    dcli_cost cost;          /* of an element, on CPU devices */
    int64_t uses;            /* open operations that run it */
    bool forgotten;          /* no later operation may: it ends with the last of these */
    struct dcli_kernel *next;
} dcli_kernel;

/** Called before the use of a body by this peer ends. */
typedef void dcli_body_ends_fn(void *user, const dcli_body *body);

typedef struct dcli_kernels {
    dcli_parsed *common;
    dcli_kernel *kernel[256];
    dcli_body_ends_fn *body_ends;
    void *user;
} dcli_kernels;

void dcli_kernels_init(dcli_kernels *kernels, dcli_parsed *common, dcli_body_ends_fn *body_ends, void *user);
/** Programs have been released before. */
void dcli_kernels_free(dcli_kernels *kernels);
void dcli_kernels_release_device(dcli_kernels *kernels);

/** A body by its number; NULL: there is none. */
dcli_kernel *dcli_kernels_find(const dcli_kernels *kernels, int64_t number);
/** Parse a body that came. @return DCL_OK, DCL_ERR_BODY, DCL_ERR_PROTOCOL (number taken), DCL_ERR_NOMEM. */
dcl_status dcli_kernels_add(dcli_kernels *kernels, const dcli_msg_kernel *message, dcli_kernel **kernel_out);
/** Forget the bodies that a message names, with their plans and programs; what is open may still use them. Numbers that are
 *  not known are passed over: the message is said again, or came to a newcomer. */
void dcli_kernels_forget(dcli_kernels *kernels, const dcli_msg_kernel *message);
/** An operation that runs it has ended. */
void dcli_kernels_end_use(dcli_kernels *kernels, dcli_kernel *kernel);
/** The kernel, another one than `but`, that has a program and was used longest ago; NULL: there is none. */
dcli_kernel *dcli_kernels_oldest_program(const dcli_kernels *kernels, const dcli_kernel *but);

#endif
