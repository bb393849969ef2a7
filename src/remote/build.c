/* remote/build.c - compiling programs in a thread of its own, so that commands go on and their ends are reported meanwhile.
 *
 * The serving thread makes a job of each command that builds, and of each question for a binary. It answers when the other thread
 * has ended the job. Jobs are done one after another. While one is being done, its thread alone uses the program: the serving thread refuses what needs it. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/facts.h"
#include "net/include.h"
#include "remote/inside.h"
#include "remote/source.h"

enum { MOST_JOBS = 1024 }; /* that wait */

/** A command that builds, or a question for a binary. */
typedef struct dcli_job {
    struct dcli_job *next;
    int kind;                                             /* a dcli_command_kind; 0: the binary is read */
    int64_t question;                                     /* number of the answer */
    dcli_object *program;                                 /* reference */
    dcli_scope scope;                                     /* its context */
    int count;                                            /* other programs: headers, or what is linked */
    dcli_object *other[DCLI_MOST_COMMAND_NUMBERS];        /* [count] references */
    cl_program handle, others[DCLI_MOST_COMMAND_NUMBERS]; /* the program, and the others, [count] */
    char options[DCLI_MOST_TEXT + 32];
    cl_program made;       /* takes the place of the program; NULL: none does */
    unsigned char *binary; /* [binary_bytes] */
    size_t binary_bytes;
    cl_int code;
} dcli_job;

struct dcli_builder {
    dcli_remote *remote;
    pthread_t thread;
    bool has_thread, ends;
    pthread_mutex_t lock; /* guards the lists and `ends` */
    pthread_cond_t changed;
    dcli_job *first, **last; /* to do */
    dcli_job *done;          /* at most one */
    int count;               /* jobs that were not answered */
};

/* ---- the thread ---- */

/* Compile a program with headers. The driver has replaced their names in the text: header h is included as
 * DCLI_INCLUDE_NAME with number h. */
static cl_int compile(const dcli_job *job)
{
    enum { MOST_NAME = 32 };
    char name[DCLI_MOST_COMMAND_NUMBERS][MOST_NAME];
    const char *names[DCLI_MOST_COMMAND_NUMBERS];
    for (int h = 0; h < job->count; h++) {
        snprintf(name[h], sizeof name[h], DCLI_INCLUDE_NAME, h);
        names[h] = name[h];
    }
    return clCompileProgram(job->handle, job->scope.count, job->scope.device, job->options, (cl_uint)job->count,
                            job->count > 0 ? job->others : NULL, job->count > 0 ? names : NULL, NULL, NULL);
}

/* Build a program that includes headers: it is compiled, and linked to a program that takes its place. */
static cl_int build_with(dcli_job *job)
{
    cl_int code = compile(job);
    if (code == CL_SUCCESS)
        job->made = clLinkProgram(job->scope.context, job->scope.count, job->scope.device, "", 1, &job->handle, NULL,
                                  NULL, &code);
    return code == CL_COMPILE_PROGRAM_FAILURE || code == CL_LINK_PROGRAM_FAILURE ? CL_BUILD_PROGRAM_FAILURE : code;
}

/* Read the binary of a program: that of its first device, if it has several, which are all parts of one. PoCL compiles all its kernels
 * for that. */
static void read_binary(dcli_job *job)
{
    size_t lengths[DCLI_MOST_SUB_DEVICES] = {0}, length = 0;
    unsigned char *binaries[DCLI_MOST_SUB_DEVICES] = {NULL};
    job->code = clGetProgramInfo(job->handle, CL_PROGRAM_BINARY_SIZES, sizeof lengths, lengths, &length);
    size_t count = length / sizeof lengths[0];
    if (job->code == CL_SUCCESS && lengths[0] > DCLI_MOST_CL_TEXT)
        job->code = CL_OUT_OF_RESOURCES;
    if (job->code != CL_SUCCESS || lengths[0] == 0)
        return;
    if ((job->binary = dcli_malloc(lengths[0])) == NULL) {
        job->code = CL_OUT_OF_HOST_MEMORY;
        return;
    }
    binaries[0] = job->binary;
    job->code = clGetProgramInfo(job->handle, CL_PROGRAM_BINARIES, count * sizeof binaries[0], binaries, NULL);
    job->binary_bytes = job->code == CL_SUCCESS ? lengths[0] : 0;
}

static void do_job(dcli_job *job)
{
    if (job->kind == 0)
        read_binary(job);
    else if (job->kind == DCLI_CL_LINK)
        job->made = clLinkProgram(job->scope.context, job->scope.count, job->scope.device, job->options,
                                  (cl_uint)job->count, job->others, NULL, NULL, &job->code);
    else if (job->kind == DCLI_CL_COMPILE)
        job->code = compile(job);
    else if (job->count > 0)
        job->code = build_with(job);
    else
        job->code = clBuildProgram(job->handle, job->scope.count, job->scope.device, job->options, NULL, NULL);
}

static void *do_jobs(void *argument)
{
    dcli_builder *builder = argument;
    pthread_mutex_lock(&builder->lock);
    while (!builder->ends) {
        dcli_job *job = builder->first;
        if (job == NULL || builder->done != NULL) {
            pthread_cond_wait(&builder->changed, &builder->lock);
            continue;
        }
        if ((builder->first = job->next) == NULL)
            builder->last = &builder->first;
        pthread_mutex_unlock(&builder->lock);
        if (job->code == CL_SUCCESS)
            do_job(job);
        pthread_mutex_lock(&builder->lock);
        builder->done = job;
        dcli_endpoint_wake(builder->remote->terms.endpoint);
    }
    pthread_mutex_unlock(&builder->lock);
    return NULL;
}

/* ---- opening and closing ---- */

dcl_status dcli_builder_open(dcli_remote *remote)
{
    dcli_builder *builder = dcli_calloc(1, sizeof *builder);
    sigset_t all, before;
    if (builder == NULL)
        return DCL_ERR_NOMEM;
    builder->remote = remote;
    builder->last = &builder->first;
    pthread_mutex_init(&builder->lock, NULL);
    dcli_cond_init(&builder->changed);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    builder->has_thread = pthread_create(&builder->thread, NULL, do_jobs, builder) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    remote->builder = builder;
    return builder->has_thread
               ? DCL_OK
               : DCLI_FAIL(DCL_ERR_NOMEM, "a thread that compiles cannot be started; close other programs");
}

static void free_job(dcli_remote *remote, dcli_job *job)
{
    for (int o = 0; o < job->count; o++)
        dcli_object_drop(remote, job->other[o]);
    dcli_object_drop(remote, job->program);
    dcli_free(job->binary);
    dcli_free(job);
}

void dcli_builder_close(dcli_remote *remote)
{
    dcli_builder *builder = remote->builder;
    if (builder == NULL)
        return;
    pthread_mutex_lock(&builder->lock);
    builder->ends = true;
    pthread_cond_signal(&builder->changed);
    pthread_mutex_unlock(&builder->lock);
    if (builder->has_thread)
        pthread_join(builder->thread, NULL);
    while (builder->first != NULL) {
        dcli_job *job = builder->first;
        builder->first = job->next;
        free_job(remote, job);
    }
    if (builder->done != NULL) {
        if (builder->done->made != NULL)
            clReleaseProgram(builder->done->made);
        free_job(remote, builder->done);
    }
    pthread_mutex_destroy(&builder->lock);
    pthread_cond_destroy(&builder->changed);
    dcli_free(builder);
    remote->builder = NULL;
}

/* ---- the serving thread ---- */

bool dcli_builder_is_busy(const dcli_remote *remote) { return remote->builder != NULL && remote->builder->count > 0; }

/* Make the device's programs that a job uses. They are made before the job waits in the queue, because other commands
 * may use them while it waits. */
static dcl_status take_programs(dcli_remote *remote, const dcli_msg_command *command, dcli_job *job)
{
    for (int n = 1; n < command->number_count; n++) {
        dcli_object *other = dcli_object_find(remote, command->number[n], DCLI_OBJECT_PROGRAM);
        if (other == NULL)
            return dcli_command_broken("an unknown program");
        job->other[job->count] = dcli_object_hold(other);
        if (job->kind == DCLI_CL_LINK && job->count > 0 && other->program.context != job->other[0]->program.context)
            return dcli_command_broken("programs of several contexts");
        job->others[job->count] = dcli_program_of(remote, other);
        if (job->others[job->count] == NULL || other->program.building > 0)
            job->code = CL_INVALID_PROGRAM; /* the device's driver has refused its binary, or it is none yet */
        job->count++;
    }
    if (job->kind == DCLI_CL_LINK && job->count > 0)
        job->program->program.context = dcli_object_hold(job->other[0]->program.context);
    job->scope = dcli_scope_of(remote, job->program->program.context);
    if (job->kind == DCLI_CL_LINK)
        return DCL_OK;
    job->handle = dcli_program_of(remote, job->program);
    if (job->program->program.building > 0 || job->program->program.used > 0)
        job->code = CL_INVALID_OPERATION; /* no device program may be replaced while its thread uses it */
    else if (job->handle == NULL)
        job->code = job->program->status != CL_SUCCESS ? job->program->status : CL_INVALID_PROGRAM;
    return DCL_OK;
}

static dcl_status find_program(dcli_remote *remote, const dcli_msg_command *command, dcli_job *job)
{
    bool links = command->kind == DCLI_CL_LINK;
    dcli_object *program = links ? dcli_object_make(remote, command->object, DCLI_OBJECT_PROGRAM)
                                 : dcli_object_find(remote, command->object, DCLI_OBJECT_PROGRAM);
    job->program = dcli_object_hold(program);
    if (program == NULL)
        return links ? dcli_error_status() : dcli_command_broken("an unknown program");
    return DCL_OK;
}

/* Mark the programs that a job uses (change 1) or has used (change -1). Other commands refuse to use a program that is
 * being built. */
static void mark(dcli_job *job, int change)
{
    if (job->kind == 0)
        job->program->program.used += change;
    else
        job->program->program.building += change;
    for (int o = 0; o < job->count; o++)
        job->other[o]->program.used += change;
}

static void queue_job(dcli_builder *builder, dcli_job *job)
{
    mark(job, 1);
    if (builder->count++ == 0)
        dcli_watch_activity(builder->remote->watch, DCLI_BUILDING, "an OpenCL program");
    dcli_watch_beside(builder->remote->watch, builder->count); /* a crash may be the compiler's */
    pthread_mutex_lock(&builder->lock);
    *builder->last = job;
    builder->last = &job->next;
    pthread_cond_signal(&builder->changed);
    pthread_mutex_unlock(&builder->lock);
}

/* The error for options that are refused. */
static cl_int refusal_of(int kind)
{
    return kind == DCLI_CL_LINK      ? CL_INVALID_LINKER_OPTIONS
           : kind == DCLI_CL_COMPILE ? CL_INVALID_COMPILER_OPTIONS
                                     : CL_INVALID_BUILD_OPTIONS;
}

static dcl_status begin_job(dcli_remote *remote, const dcli_msg_command *command, dcli_job *job, bool *queued_out)
{
    enum { MOST_WHY = 400 };
    char why[MOST_WHY];
    job->kind = command->kind;
    if (command->number_count < 1 || command->number[0] < 1)
        return dcli_command_broken("no number of its question");
    job->question = command->number[0];
    dcl_status status = find_program(remote, command, job);
    if (status == DCL_OK)
        status = take_programs(remote, command, job);
    if (status != DCL_OK)
        return status;
    if (!dcli_options_check(command->text, why, sizeof why)) {
        dcli_facts_begin(remote, job->question);
        dcli_fact_text(&remote->facts, DCLI_FACT_LOG, why);
        return dcli_facts_end(&remote->facts, refusal_of(command->kind));
    }
    if (remote->builder->count >= MOST_JOBS)
        return dcli_command_broken("too many others before it");
    /* The driver needs to know which arguments are buffers. */
    bool links = command->kind == DCLI_CL_LINK;
    snprintf(job->options, sizeof job->options, "%s%s%s", command->text, links || command->text[0] == '\0' ? "" : " ",
             links ? "" : "-cl-kernel-arg-info");
    queue_job(remote->builder, job);
    *queued_out = true;
    return DCL_OK;
}

dcl_status dcli_program_build_remote(dcli_remote *remote, const dcli_msg_command *command)
{
    bool queued = false;
    dcli_job *job = dcli_calloc(1, sizeof *job);
    if (job == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = begin_job(remote, command, job, &queued);
    if (!queued)
        free_job(remote, job);
    return status;
}

dcl_status dcli_program_binary(dcli_remote *remote, const dcli_msg_query *query)
{
    dcli_object *program = dcli_object_find(remote, query->object, DCLI_OBJECT_PROGRAM);
    if (program == NULL)
        return dcli_command_broken("an unknown program");
    if (remote->builder->count >= MOST_JOBS)
        return dcli_command_broken("too many others before it");
    dcli_job *job = dcli_calloc(1, sizeof *job);
    if (job == NULL)
        return DCL_ERR_NOMEM;
    job->question = query->number;
    job->program = dcli_object_hold(program);
    job->handle = dcli_program_of(remote, program);
    if (job->handle == NULL)
        job->code = CL_INVALID_PROGRAM;
    else if (program->program.building > 0)
        job->code = CL_INVALID_OPERATION;
    queue_job(remote->builder, job);
    return DCL_OK;
}

static dcl_status answer_binary(dcli_remote *remote, const dcli_job *job)
{
    dcl_status status = dcli_program_send_binary(remote, job->question, job->binary, job->binary_bytes);
    if (status != DCL_OK)
        return status;
    dcli_facts_begin(remote, job->question);
    dcli_fact_number(&remote->facts, 1, (int64_t)job->binary_bytes);
    return dcli_facts_end(&remote->facts, job->code);
}

static dcl_status answer(dcli_remote *remote, const dcli_job *job)
{
    dcli_object *program = job->program;
    if (job->kind == 0)
        return answer_binary(remote, job);
    if (job->made != NULL) {
        if (program->program.program != NULL)
            clReleaseProgram(program->program.program);
        program->program.program = job->made;
    }
    dcli_facts_begin(remote, job->question);
    if (program->program.program != NULL)
        dcli_program_describe(&remote->facts, program->program.program, job->scope.device[0],
                              job->code == CL_SUCCESS && job->kind != DCLI_CL_COMPILE);
    return dcli_facts_end(&remote->facts, job->code);
}

dcl_status dcli_builder_look(dcli_remote *remote)
{
    dcli_builder *builder = remote->builder;
    if (builder->count == 0)
        return DCL_OK;
    pthread_mutex_lock(&builder->lock);
    dcli_job *job = builder->done;
    pthread_mutex_unlock(&builder->lock);
    if (job == NULL)
        return DCL_OK;
    mark(job, -1); /* its thread does nothing until it is answered */
    dcl_status status = answer(remote, job);
    free_job(remote, job);
    builder->count--;
    dcli_watch_activity(remote->watch, DCLI_BUILDING, builder->count > 0 ? "an OpenCL program" : NULL);
    dcli_watch_beside(remote->watch, builder->count);
    pthread_mutex_lock(&builder->lock);
    builder->done = NULL;
    pthread_cond_signal(&builder->changed);
    pthread_mutex_unlock(&builder->lock);
    return status;
}
