/* worker/kernels.h - the bodies that a peer knows, by number, and their programs on its device. Used by the thread of
 * its peer. */
#ifndef DCLI_WORKER_KERNELS_H
#define DCLI_WORKER_KERNELS_H

#include "device/device.h"
#include "kernel/element.h"
#include "net/message.h"
#include "worker/cost.h"
#include "worker/parsed.h"

/** A body, with its program on this node's device after it was first needed. */
typedef struct dcli_kernel {
    int64_t number;
    const dcli_body *body;        /* the parsed body, shared with other peers by dcli_parsed; this pointer is one of
                                     its uses */
    bool shapes[DCLI_MAX_PARAMS]; /* [param] whether it is a scalar that occurs in a subscript: plans depend on the
                                     values of these only */
    dcli_combines combines;       /* whether it merges partial results, which the node may do without its program */
    dcli_program *program;        /* released if it was not used for long and there are many programs; it is then built
                                again */
    bool gathers;            /* its program is built with the kernels that gather, if the body can be run by them */
    int64_t used;            /* number of the newest operation known here when it was last built or run: shows
                                     which program was not used for longest */
    dcl_status build_status; /* DCL_OK, or the error for which it is not built again */
    char *build_problem;     /* error text for build_status; NULL: none */
    dcli_cost cost;          /* measured cost of an element; not measured on GPUs, for tile kernels, and for
                                     batches whose kernels gather inputs */
    struct dcli_profile *profile; /* measured times of its work (profile.h); NULL: none */
    bool alone;                   /* it is in no series, because a program with it could not be compiled */
    int64_t uses;                 /* number of open operations that run it */
    int16_t trace_name;           /* its number by dcli_trace_name(); 0: none yet, -1: it has none */
    bool forgotten;               /* evicted: no later operation may use it; it is removed with the last of these */
    struct dcli_kernel *next;
} dcli_kernel;

/** Called when an evicted body that no open operation uses is removed here, while it can still be read.
 *  dcli_kernels_free() does not call it. */
typedef void dcli_body_ends_fn(void *user, const dcli_body *body);

typedef struct dcli_kernels {
    dcli_parsed *common;
    dcli_kernel *kernel[256];
    dcli_body_ends_fn *body_ends;
    void *user;
} dcli_kernels;

void dcli_kernels_init(dcli_kernels *kernels, dcli_parsed *common, dcli_body_ends_fn *body_ends, void *user);
/** Free; programs were released before. */
void dcli_kernels_free(dcli_kernels *kernels);
void dcli_kernels_release_device(dcli_kernels *kernels);

/** Find a body by its number; NULL: there is none. */
dcli_kernel *dcli_kernels_find(const dcli_kernels *kernels, int64_t number);
/** Parse and add a received body. @return DCL_OK, DCL_ERR_BODY, DCL_ERR_PROTOCOL (number in use, too many
 *  parameters, wrong number of sizes), DCL_ERR_NOMEM. */
dcl_status dcli_kernels_add(dcli_kernels *kernels, const dcli_msg_kernel *message, dcli_kernel **kernel_out);
/** Evict the bodies that a message names, with their plans and programs; open operations may still use them. Unknown
 *  numbers are ignored: the message may be a repetition, or this node has joined later. */
void dcli_kernels_forget(dcli_kernels *kernels, const dcli_msg_kernel *message);
/** End an operation's use of a body. */
void dcli_kernels_end_use(dcli_kernels *kernels, dcli_kernel *kernel);
/** The kernel, other than `but`, with the least recently used program; NULL: there is none. */
dcli_kernel *dcli_kernels_oldest_program(const dcli_kernels *kernels, const dcli_kernel *but);

#endif
