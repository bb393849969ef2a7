/* dcl/iterate.h - time loops that end when a condition is met; a node evaluates it. */
#ifndef DCL_ITERATE_H
#define DCL_ITERATE_H

#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Callback of dcl_iterate(): makes the calls of one step.
 *  @param step  its number, from 0 on.
 *  @return DCL_OK; anything else ends the loop, and dcl_iterate() returns it. */
typedef dcl_status dcl_step_fn(void *user, int64_t step);

/** A condition that ends a loop, checked after steps number every-1, 2*every-1, ...: an expression of OpenCL C. It reads
 *  elements at constant subscripts, for example of a residual that the steps reduce into an element (dcl_reduce()).
 *
 *      DCL_UNTIL(50, "rho(0) < eps * eps * first(0)", DCL_IN(rho), DCL_IN(first), DCL_VALUE(eps))
 *
 *  @param every  1 or more.
 *  @param ...    1..63 arguments, as of dcl_forall(): DCL_IN, DCL_VALUE, DCL_PRELUDE. */
#define DCL_UNTIL(every, condition, ...) (every), DCL_CALL_BODY(NULL, NULL, condition, __VA_ARGS__)
/** No condition: all steps are run. */
#define DCL_NEVER 0, NULL

/** Run steps until a condition is met.
 *
 *      static dcl_status step(void *user, int64_t n)
 *      {
 *          struct heat *h = user;
 *          dcl_forall(h->cluster, "V(i) = ...;", DCL_OUT_AS("V", h->V), DCL_IN_AS("U", h->U));
 *          ...
 *          return dcl_swap(h->U, h->V);
 *      }
 *      dcl_iterate(cluster, 1000, step, &heat, &steps, DCL_UNTIL(50, "residual(0) < eps", DCL_IN_AS("residual", heat.residual),
 *                                                                DCL_VALUE(eps)));
 *
 *  A node evaluates the condition. The program reads its value `every` steps later, while the nodes compute these
 *  steps, so they never wait for the program. The loop therefore ends `every` steps after the step at which the condition was
 *  met. So the number of steps does not depend on the nodes. The program is at most 2 * every steps ahead of the nodes. If
 *  the condition is first met in the last `every` steps, all steps are run.
 *  Without a condition, this is a loop that calls `step`. It returns as soon as all calls are made; dcl_wait() waits for them.
 *
 *  @param steps      the most steps to run, 0 or more.
 *  @param step       called in the calling thread, without locks.
 *  @param steps_out  number of steps that were made; NULL is accepted. It is set after errors, too, unless an argument was
 *                    refused before the first step.
 *  @param every      DCL_UNTIL(...) or DCL_NEVER stand for the last two arguments, `every` and `until`.
 *  @param until      the condition as a description of a body, whose cluster is not used; borrowed for the call.
 *  @return DCL_OK; what `step` returned; DCL_ERR_INVALID; DCL_ERR_BODY: the condition does not compile; DCL_ERR_RANGE:
 *          it reads outside of an array; the errors of dcl_forall() and dcl_read() for the condition. */
DCL_API dcl_status dcl_iterate(dcl_cluster *cluster, int64_t steps, dcl_step_fn *step, void *user, int64_t *steps_out,
                               int64_t every, const dcl_call *until);

#ifdef __cplusplus
}
#endif
#endif
