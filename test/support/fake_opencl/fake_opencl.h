/* support/fake_opencl/fake_opencl.h - an OpenCL driver that fails or hangs when it is told to.
 *
 * A library that the OpenCL loader takes for a driver: OCL_ICD_VENDORS=<path of the library> selects it instead of all
 * others. It loads the real driver (the library named in /etc/OpenCL/vendors/pocl.icd, or by TEST_OPENCL_DRIVER), hands
 * out its platforms, and stands before it: every object of a driver begins with a pointer to the driver's table of
 * functions, through which the loader calls. All objects of a driver share that table, so the functions below are put
 * into the table itself, also where it lies in read-only memory. They count, do what the plan says, and pass everything
 * else on.
 *
 * It is stricter than PoCL: a kernel is refused that was given a buffer which has been released since, or one of another
 * context (CL_INVALID_KERNEL_ARGS), and so are commands with such a buffer; rows are refused whose last line does not end
 * within the buffer, as NVIDIA's driver does.
 *
 * The plan is a text of rules separated by ';'. The n-th call counts from when the plan was set; "3+" is the third and all
 * after it. TEST_OPENCL holds the plan at the start; a process that is part of a test changes it by fake_opencl_plan().
 *
 *   fail clCreateBuffer 3 -5           the call returns this code and makes nothing; functions that release do release
 *   event clEnqueueNDRangeKernel 2 -5  the call succeeds and runs nothing; its event ends with this code. When no event
 *                                      was asked for, the next event does. Of every function that enqueues a command,
 *                                      except clEnqueueMapBuffer and clEnqueueUnmapMemObject
 *   late clEnqueueReadBuffer 1+ 20     the command starts 20 ms after it was enqueued, and so ends at least as late. Of
 *                                      the same functions
 *   takes clEnqueueReadBuffer 10       the command takes 10 ms at least: it ends, and those behind it in its queue start, so
 *                                      long after it would have. Of every function that enqueues a command that touches
 *                                      memory, or of kernels whose names begin with the word
 *   rate clEnqueueWriteBuffer 200      the same, for 200 bytes per microsecond; of kernels: work-items
 *   slow 20                            a call that waits for the device takes 20 ms longer: clFinish, clWaitForEvents,
 *                                      and blocking clEnqueueReadBuffer, clEnqueueWriteBuffer and clEnqueueMapBuffer
 *   apart                              devices have memory of their own: a buffer in host memory is a copy of it
 *   apart 2                            the same of one device, by its number from 0 among those of its platform
 *   gpu                                devices call themselves GPUs: kernels are generated in the form for these
 *   discrete                           devices say that they do not share the memory of the host
 *   peers                              devices have UUIDs, and import memory that support/fake_cuda exports
 *   hang clBuildProgram 1              the call does not return
 *   hang kernel 1                      the n-th launched kernel never ends, nor does what is behind it in its queue, nor
 *                                      the calls that wait for it
 *   one dcl_unit                       programs whose text has this word are all the first of them that was built: for
 *                                      many bodies, which then do not compute what they say
 *   text #define fabs(x) (x)           the text of every program begins with this line
 *   no platforms                       there are none, for processes that begin with this plan
 *   no devices                         clGetDeviceIDs finds none
 *   no registering                     devices with memory of their own refuse buffers in 64 KB and more of host memory
 *   claim cl_khr_device_uuid           devices name this extension, but do not know what it asks for
 *
 * What hangs goes on when another plan is set. A plan with a mistake ends the process, as it would test nothing.
 *
 * Whatever the plan, two commands that touch the same bytes, one of them to write, must be ordered: by their queue, by events,
 * or because the host had seen the end of the first. Otherwise the process says so and aborts: see order.h. */
#ifndef TEST_FAKE_OPENCL_H
#define TEST_FAKE_OPENCL_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/** The functions of the library, found with dlsym() under the names given here. */
typedef struct fake_opencl {
    /** fake_opencl_plan: set a plan (NULL or "": none), end what hangs, count from 0. */
    void (*plan)(const char *plan);
    /** fake_opencl_calls: number of calls of a function since then; -1: a function that is not replaced. */
    int (*calls)(const char *function);
    /** fake_opencl_function: the names of all replaced functions, by number; NULL after the last. */
    const char *(*function)(int number);
    /** fake_opencl_passed: bytes that a context has written to its device, since the last call of this, from the very
     *  addresses to which another context had read them from its own device since then. */
    long (*passed)(void);
    /** fake_opencl_waits: number of calls since then that waited for the device (see "slow"), made by threads that have
     *  enqueued commands: a thread that only waits does not count. */
    int (*waits)(void);
    /** fake_opencl_left: objects made or retained and not released, such as "1 cl_mem 2 cl_event"; "" if there are
     *  none. @return text_out. */
    char *(*left)(char *text_out, size_t bytes);
} fake_opencl;

/** Sums over all processes that use the library, in bytes, for devices with memory of their own. They lie in the file that
 *  TEST_OPENCL_TALLY names. */
typedef struct fake_tally {
    atomic_long registered, registrations;         /* in buffers in host memory, now; number of these buffers so far */
    atomic_long entered, left;                     /* crossed between such memory of their own and the device */
    atomic_long entered_elsewhere, left_elsewhere; /* crossed between other host memory and the device */
} fake_tally;

/** Make a tally for the processes that are started from now on. @return NULL: there is no memory. */
static inline fake_tally *fake_tally_open(void)
{
    char path[] = "/tmp/dcl-tally-XXXXXX", name[64];
    int fd = mkstemp(path);
    if (fd < 0)
        return NULL;
    unlink(path);
    void *at = MAP_FAILED;
    if (ftruncate(fd, sizeof(fake_tally)) == 0)
        at = mmap(NULL, sizeof(fake_tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)getpid(), fd); /* open until this process ends */
    setenv("TEST_OPENCL_TALLY", name, 1);
    return at != MAP_FAILED ? at : NULL;
}

#ifdef TEST_FAKE_OPENCL /* path of the library, defined if it can be built */
/** Let this process use the library; call it before the first call of OpenCL. */
static inline void fake_opencl_select(void) { setenv("OCL_ICD_VENDORS", TEST_FAKE_OPENCL, 1); }

/** Find the library in this process, which uses it. @return whether it is there. */
static inline int fake_opencl_find(fake_opencl *fake_out)
{
    void *library = dlopen(TEST_FAKE_OPENCL, RTLD_NOW);
    if (library == NULL)
        return 0;
    *(void **)&fake_out->plan = dlsym(library, "fake_opencl_plan");
    *(void **)&fake_out->calls = dlsym(library, "fake_opencl_calls");
    *(void **)&fake_out->function = dlsym(library, "fake_opencl_function");
    *(void **)&fake_out->waits = dlsym(library, "fake_opencl_waits");
    *(void **)&fake_out->passed = dlsym(library, "fake_opencl_passed");
    *(void **)&fake_out->left = dlsym(library, "fake_opencl_left");
    return fake_out->plan != NULL && fake_out->calls != NULL && fake_out->function != NULL && fake_out->left != NULL &&
           fake_out->waits != NULL && fake_out->passed != NULL;
}
#endif

#endif
