/* icd/program.c - programs. For each of its devices, a program has a program on that device's server, which is made
 * when it is first needed. */
#include <stdio.h>

#include "icd/entries.h"
#include "icd/include.h"

/* ---- on servers ---- */

static void release_on(icd_device *device, int64_t number)
{
    if (number != 0)
        icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = number});
}

static void free_declarations(icd_build *build)
{
    for (int k = 0; k < build->count; k++) {
        icd_declaration *declaration = &build->declaration[k];
        for (int p = 0; p < declaration->count; p++) {
            dcli_free(declaration->parameter[p].name);
            dcli_free(declaration->parameter[p].type);
        }
        dcli_free(declaration->parameter);
        dcli_free(declaration->name);
        dcli_free(declaration->attributes);
    }
    dcli_free(build->declaration);
    build->declaration = NULL;
    build->count = 0;
}

void icd_program_free(icd_program *program)
{
    for (int d = 0; program->build != NULL && d < program->context->device_count; d++) {
        icd_build *build = &program->build[d];
        release_on(program->context->device[d], build->number);
        free_declarations(build);
        dcli_free(build->options);
        dcli_free(build->log);
        dcli_free(build->binary);
    }
    dcli_free(program->build);
    dcli_free(program->source);
    icd_drop(program->context);
}

static cl_int append(icd_device *device, int64_t program, const void *bytes, size_t length)
{
    enum { PART = 8 * DCLI_MOST_COMMAND_WORDS };
    cl_int status = CL_SUCCESS;
    for (size_t at = 0; at < length && status == CL_SUCCESS; at += PART) {
        int64_t word[DCLI_MOST_COMMAND_WORDS] = {0}, part = (int64_t)(length - at < PART ? length - at : PART);
        memcpy(word, (const char *)bytes + at, (size_t)part);
        status = icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_APPEND,
                                                      .object = program,
                                                      .number_count = 1,
                                                      .number = &part,
                                                      .word_count = (int)((part + 7) / 8),
                                                      .word = word});
    }
    return status;
}

/* Make a program of some bytes on a server. */
static cl_int make_of(const icd_context *context, int place, bool is_binary, const void *bytes, size_t length,
                      int64_t *number_out)
{
    icd_device *device = context->device[place];
    if (length > DCLI_MOST_CL_TEXT / 2) /* the rest is for its headers and for other programs */
        return CL_OUT_OF_RESOURCES;
    int64_t number = icd_number(), sent[] = {(int64_t)length, context->number[place]};
    cl_int status = icd_send(device, &(dcli_msg_command){.kind = is_binary ? DCLI_CL_BINARY : DCLI_CL_SOURCE,
                                                         .object = number,
                                                         .number_count = sent[1] != 0 ? 2 : 1,
                                                         .number = sent});
    if (status != CL_SUCCESS)
        return status;
    *number_out = number;
    return append(device, number, bytes, length);
}

/* Make a program on a server, unless it is there and includes nothing, and a program for each header that it includes.
 * @param number_out  [bundle->count] the numbers of the headers' programs. */
static cl_int make_on(icd_program *program, int place, const icd_bundle *bundle, int64_t number_out[])
{
    icd_build *build = &program->build[place];
    icd_device *device = program->context->device[place];
    cl_int status = CL_SUCCESS;
    if (build->number != 0 && (bundle->count > 0 || build->has_headers)) { /* its text may differ now */
        release_on(device, build->number);
        build->number = 0;
    }
    build->has_headers = bundle->count > 0;
    for (int h = 0; h < bundle->count && status == CL_SUCCESS; h++)
        status = make_of(program->context, place, false, bundle->header[h].text, strlen(bundle->header[h].text),
                         &number_out[h]);
    if (build->number != 0 || status != CL_SUCCESS)
        return status;
    bool is_binary = program->source == NULL;
    const char *text = bundle->text != NULL && bundle->text[0] == '\0' ? "\n" : bundle->text; /* of no kernels */
    const void *bytes = is_binary ? (const void *)build->binary : (const void *)text;
    size_t length = is_binary ? build->binary_bytes : strlen(text);
    return bytes == NULL || length == 0 ? CL_INVALID_PROGRAM
                                        : make_of(program->context, place, is_binary, bytes, length, &build->number);
}

/* ---- what a server says of a program ---- */

static char *text_of(const icd_question *question, int64_t key)
{
    const icd_fact *fact = icd_question_fact(question, key);
    return dcli_strdup(fact != NULL ? fact->value : ""); /* values end with 0 */
}

static bool numbers_of(const icd_question *question, int64_t key, int count, int64_t number_out[])
{
    const icd_fact *fact = icd_question_fact(question, key);
    if (fact == NULL || fact->bytes != (size_t)count * sizeof number_out[0])
        return false;
    memcpy(number_out, fact->value, fact->bytes);
    return true;
}

static bool note_parameter(const icd_question *question, int64_t key, icd_parameter *parameter)
{
    int64_t number[DCLI_ARGUMENT_FACTS];
    parameter->name = text_of(question, key + DCLI_FACT_NAME);
    parameter->type = text_of(question, key + DCLI_FACT_TYPE);
    if (parameter->name == NULL || parameter->type == NULL ||
        !numbers_of(question, key + DCLI_FACT_NUMBERS, DCLI_ARGUMENT_FACTS, number))
        return false;
    parameter->known = number[0] != 0;
    parameter->address = (cl_kernel_arg_address_qualifier)number[1];
    parameter->access = (cl_kernel_arg_access_qualifier)number[2];
    parameter->qualifiers = (cl_kernel_arg_type_qualifier)number[3];
    parameter->bytes = number[4] > 0 && number[4] <= 8 * DCLI_MOST_COMMAND_WORDS ? (size_t)number[4] : 0;
    return true;
}

static bool note_kernel(const icd_question *question, int64_t key, icd_declaration *declaration)
{
    enum { MOST = 512 };
    int64_t number[DCLI_KERNEL_FACTS];
    declaration->name = text_of(question, key + DCLI_FACT_NAME);
    declaration->attributes = text_of(question, key + DCLI_FACT_TYPE);
    if (declaration->name == NULL || declaration->attributes == NULL ||
        !numbers_of(question, key + DCLI_FACT_NUMBERS, DCLI_KERNEL_FACTS, number) || number[0] < 0 || number[0] > MOST)
        return false;
    declaration->parameter = dcli_calloc((size_t)number[0] + 1, sizeof *declaration->parameter);
    if (declaration->parameter == NULL)
        return false;
    declaration->count = (int)number[0];
    declaration->group = (size_t)number[1];
    for (int d = 0; d < 3; d++)
        declaration->fixed[d] = (size_t)number[2 + d];
    declaration->multiple = (size_t)number[5];
    declaration->local_bytes = (cl_ulong)number[6];
    declaration->private_bytes = (cl_ulong)number[7];
    for (int p = 0; p < declaration->count; p++)
        if (!note_parameter(question, key + (p + 1) * DCLI_FACT_ARGUMENT, &declaration->parameter[p]))
            return false;
    return true;
}

/* Record the kernels of a built program, from the answer of the server. @return false: the answer is malformed, or
 * there is no memory for it. */
static bool note_kernels(const icd_question *question, icd_build *build)
{
    int64_t count = 0;
    if (!numbers_of(question, DCLI_FACT_KERNELS, 1, &count))
        return true; /* it has none */
    if (count < 0 || count > DCLI_MOST_FACT_KERNELS ||
        (build->declaration = dcli_calloc((size_t)count + 1, sizeof *build->declaration)) == NULL)
        return false;
    build->count = (int)count;
    for (int k = 0; k < build->count; k++)
        if (!note_kernel(question, (k + 1) * DCLI_FACT_KERNEL, &build->declaration[k]))
            return false;
    return true;
}

/* Build, compile or link on one device, and wait for the result. */
static cl_int build_on(icd_program *program, int place, dcli_msg_command *command, const char *options,
                       cl_program_binary_type type)
{
    icd_build *build = &program->build[place];
    icd_device *device = program->context->device[place];
    icd_question question = {.number = command->number[0]};
    char *copy = dcli_strdup(options);
    if (copy == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    dcli_free(build->options);
    build->options = copy;
    build->status = CL_BUILD_IN_PROGRESS;
    icd_question_begin(device, &question);
    cl_int status = icd_send(device, command);
    if (status != CL_SUCCESS)
        question.answered = true;
    cl_int answered = icd_question_await(device, &question);
    status = status != CL_SUCCESS ? status : answered;
    free_declarations(build);
    dcli_free(build->log);
    build->log = text_of(&question, DCLI_FACT_LOG);
    if (status == CL_SUCCESS && !note_kernels(&question, build)) {
        free_declarations(build);
        status = CL_OUT_OF_HOST_MEMORY;
    }
    build->status = status == CL_SUCCESS ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
    build->type = status == CL_SUCCESS ? type : CL_PROGRAM_BINARY_TYPE_NONE;
    icd_question_free(&question);
    return status;
}

/* ---- making programs ---- */

static icd_program *make_program(icd_context *context)
{
    icd_program *program = icd_make(ICD_PROGRAM, sizeof *program);
    if (program == NULL)
        return NULL;
    program->context = icd_hold(context);
    if ((program->build = dcli_calloc((size_t)context->device_count, sizeof *program->build)) == NULL) {
        icd_drop(program);
        return NULL;
    }
    for (int d = 0; d < context->device_count; d++)
        program->build[d].status = CL_BUILD_NONE;
    return program;
}

static char *join(cl_uint count, const char **strings, const size_t *lengths)
{
    size_t all = 1;
    for (cl_uint s = 0; s < count; s++)
        all += lengths != NULL && lengths[s] > 0 ? strnlen(strings[s], lengths[s]) : strlen(strings[s]);
    char *text = dcli_malloc(all), *at = text;
    for (cl_uint s = 0; s < count && text != NULL; s++) {
        size_t length = lengths != NULL && lengths[s] > 0 ? strnlen(strings[s], lengths[s]) : strlen(strings[s]);
        memcpy(at, strings[s], length);
        at += length;
    }
    if (text != NULL)
        *at = '\0';
    return text;
}

static cl_int make_from_source(icd_context *context, cl_uint count, const char **strings, const size_t *lengths,
                               icd_program **program_out)
{
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    if (count == 0 || strings == NULL)
        return CL_INVALID_VALUE;
    for (cl_uint s = 0; s < count; s++)
        if (strings[s] == NULL)
            return CL_INVALID_VALUE;
    icd_program *program = make_program(context);
    if (program == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    for (int d = 0; d < context->device_count; d++)
        program->build[d].wanted = true;
    if ((program->source = join(count, strings, lengths)) == NULL) {
        icd_drop(program);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *program_out = program;
    return CL_SUCCESS;
}

cl_program CL_API_CALL icd_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                                     const size_t *lengths, cl_int *status_out)
{
    cl_int status = CL_INVALID_CONTEXT;
    icd_program *program = NULL;
    if (icd_enter()) {
        status = make_from_source(icd_find(context, ICD_CONTEXT), count, strings, lengths, &program);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_program, program) : NULL;
}

/* Ask the server of a device whether the device accepts the binary of a program, and of what type it is. */
static cl_int check_binary(icd_program *program, int place)
{
    const icd_bundle no_headers = {0};
    icd_build *build = &program->build[place];
    icd_device *device = program->context->device[place];
    cl_int status = device->lost ? CL_DEVICE_NOT_AVAILABLE : make_on(program, place, &no_headers, NULL);
    if (status != CL_SUCCESS)
        return status;
    icd_question question = {.number = icd_number(), .kind = DCLI_ASK_CHECK, .object = build->number};
    int64_t type = 0;
    icd_question_begin(device, &question);
    status = icd_question_await(device, &question);
    if (status == CL_SUCCESS && numbers_of(&question, 1, 1, &type))
        build->type = (cl_program_binary_type)type;
    icd_question_free(&question);
    return status;
}

static cl_int make_from_binary(icd_context *context, cl_uint count, const cl_device_id devices[],
                               const size_t lengths[], const unsigned char *binaries[], cl_int statuses[],
                               icd_program **program_out)
{
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    if (count == 0 || devices == NULL || lengths == NULL || binaries == NULL)
        return CL_INVALID_VALUE;
    cl_int status = CL_SUCCESS;
    icd_program *program = make_program(context);
    for (cl_uint d = 0; d < count && program != NULL && status == CL_SUCCESS; d++) {
        int place = icd_place_of(context, devices[d]);
        icd_build *build = place >= 0 ? &program->build[place] : NULL;
        cl_int own = place < 0                                ? CL_INVALID_DEVICE
                     : lengths[d] == 0 || binaries[d] == NULL ? CL_INVALID_VALUE
                     : build->binary != NULL                  ? CL_SUCCESS /* that of another part of the same device */
                     : (build->binary = dcli_malloc(lengths[d])) == NULL ? CL_OUT_OF_HOST_MEMORY
                                                                         : CL_SUCCESS;
        if (statuses != NULL)
            statuses[d] = own;
        status = own;
        if (own != CL_SUCCESS)
            break;
        if (build->wanted)
            continue;
        build->wanted = true;
        build->binary_bytes = lengths[d];
        memcpy(build->binary, binaries[d], lengths[d]);
    }
    if (program == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    cl_int refused = CL_SUCCESS;
    for (cl_uint d = 0; d < count && status == CL_SUCCESS; d++) { /* each has a status of its own */
        cl_int own = check_binary(program, icd_place_of(context, devices[d]));
        if (statuses != NULL)
            statuses[d] = own;
        refused = refused != CL_SUCCESS ? refused : own;
    }
    status = status != CL_SUCCESS ? status : refused;
    if (status != CL_SUCCESS) {
        icd_drop(program);
        return status;
    }
    *program_out = program;
    return CL_SUCCESS;
}

cl_program CL_API_CALL icd_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                                     const size_t *lengths, const unsigned char **binaries,
                                                     cl_int *statuses, cl_int *status_out)
{
    cl_int status = CL_INVALID_CONTEXT;
    icd_program *program = NULL;
    if (icd_enter()) {
        status =
            make_from_binary(icd_find(context, ICD_CONTEXT), count, devices, lengths, binaries, statuses, &program);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_program, program) : NULL;
}

/* ---- building ---- */

/* The places of the devices that a call names, or of all. @return CL_SUCCESS, CL_INVALID_VALUE, CL_INVALID_DEVICE. */
static cl_int find_places(const icd_program *program, cl_uint count, const cl_device_id devices[], bool wanted_out[])
{
    if ((count == 0) != (devices == NULL))
        return CL_INVALID_VALUE;
    for (int d = 0; d < program->context->device_count; d++)
        wanted_out[d] = devices == NULL && program->build[d].wanted;
    for (cl_uint d = 0; d < count; d++) {
        int place = icd_place_of(program->context, devices[d]);
        if (place < 0 || !program->build[place].wanted)
            return CL_INVALID_DEVICE;
        wanted_out[place] = true;
    }
    return CL_SUCCESS;
}

/* Fail a build, because the program includes too much; the build logs say so. */
static cl_int too_many(icd_program *program, const bool place[])
{
    char text[200];
    snprintf(text, sizeof text,
             "DCL: the program includes more than %d files, or names more than %d folders; join some of them\n",
             ICD_MOST_HEADERS, ICD_MOST_FOLDERS - 1);
    for (int d = 0; d < program->context->device_count; d++)
        if (place[d]) {
            dcli_free(program->build[d].log);
            program->build[d].log = dcli_strdup(text);
            program->build[d].status = CL_BUILD_ERROR;
        }
    return CL_BUILD_PROGRAM_FAILURE;
}

typedef struct icd_job {
    icd_program *program;
    bool place[ICD_MOST_DEVICES];
    char *options;
    void(CL_CALLBACK *notify)(cl_program, void *);
    void *user;
} icd_job;

/* Build or compile on one device. */
static cl_int build_one(icd_program *program, int place, int kind, const icd_bundle *bundle, const char *options)
{
    int64_t number[1 + ICD_MOST_HEADERS] = {icd_number()};
    icd_device *device = program->context->device[place];
    cl_int status = make_on(program, place, bundle, &number[1]);
    dcli_msg_command command = {.kind = kind,
                                .object = program->build[place].number,
                                .number_count = 1 + bundle->count,
                                .number = number,
                                .text = bundle->options};
    if (status == CL_SUCCESS)
        status = build_on(program, place, &command, options,
                          kind == DCLI_CL_BUILD ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE
                                                : CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    for (int h = 0; h < bundle->count; h++)
        release_on(device, number[1 + h]);
    return status;
}

static cl_int build_all(icd_program *program, const bool place[], const char *options)
{
    icd_bundle bundle;
    cl_int result = icd_bundle_open(program->source, options, 0, NULL, NULL, &bundle);
    if (bundle.too_many)
        result = too_many(program, place);
    bool opened = result == CL_SUCCESS;
    for (int d = 0; d < program->context->device_count && opened; d++) {
        cl_int status = place[d] ? build_one(program, d, DCLI_CL_BUILD, &bundle, options) : CL_SUCCESS;
        if (status != CL_SUCCESS && result == CL_SUCCESS)
            result = status;
    }
    icd_bundle_close(&bundle);
    program->building--;
    return result;
}

static void *build_later(void *argument)
{
    icd_job *job = argument;
    pthread_mutex_lock(&icd.lock);
    build_all(job->program, job->place, job->options);
    pthread_mutex_unlock(&icd.lock);
    job->notify(ICD_HANDLE(cl_program, job->program), job->user);
    pthread_mutex_lock(&icd.lock);
    icd_drop(job->program);
    pthread_mutex_unlock(&icd.lock);
    dcli_free(job->options);
    dcli_free(job);
    return NULL;
}

/* Build in a thread of its own, which then calls the program's function `notify`. */
static cl_int start_build(const icd_job *job)
{
    pthread_t thread;
    icd_job *own = dcli_malloc(sizeof *own);
    if (own == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    *own = *job;
    own->options = dcli_strdup(job->options);
    if (own->options == NULL || pthread_create(&thread, NULL, build_later, own) != 0) {
        dcli_free(own->options);
        dcli_free(own);
        return CL_OUT_OF_HOST_MEMORY;
    }
    pthread_detach(thread);
    return CL_SUCCESS;
}

cl_int CL_API_CALL icd_clBuildProgram(cl_program handle, cl_uint count, const cl_device_id *devices,
                                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    if (notify == NULL && user != NULL)
        return CL_INVALID_VALUE;
    if (!icd_enter())
        return CL_INVALID_PROGRAM;
    icd_job job = {.program = icd_find(handle, ICD_PROGRAM),
                   .options = (char *)(uintptr_t)(options != NULL ? options : ""),
                   .notify = notify,
                   .user = user};
    cl_int status = job.program == NULL ? CL_INVALID_PROGRAM : find_places(job.program, count, devices, job.place);
    if (status == CL_SUCCESS && strlen(job.options) >= DCLI_MOST_TEXT)
        status = CL_INVALID_BUILD_OPTIONS;
    if (status == CL_SUCCESS && (job.program->kernels > 0 || job.program->building > 0))
        status = CL_INVALID_OPERATION;
    if (status == CL_SUCCESS) {
        icd_hold(job.program);
        job.program->building++;
        if (notify != NULL) {
            if ((status = start_build(&job)) != CL_SUCCESS)
                job.program->building--;
        } else {
            status = build_all(job.program, job.place, job.options);
        }
        if (notify == NULL || status != CL_SUCCESS)
            icd_drop(job.program);
    }
    icd_leave();
    return status;
}

static cl_int compile(icd_program *program, cl_uint count, const cl_device_id devices[], const char *options,
                      cl_uint header_count, const cl_program handles[], const char *names[])
{
    bool place[ICD_MOST_DEVICES];
    icd_program *headers[ICD_MOST_HEADERS];
    icd_bundle bundle;
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    if ((header_count == 0) != (handles == NULL) || (header_count == 0) != (names == NULL))
        return CL_INVALID_VALUE;
    cl_int status = find_places(program, count, devices, place);
    if (status != CL_SUCCESS)
        return status;
    if (header_count > ICD_MOST_HEADERS || strlen(options) >= DCLI_MOST_TEXT)
        return CL_INVALID_COMPILER_OPTIONS;
    for (cl_uint h = 0; h < header_count; h++)
        if ((headers[h] = icd_find(handles[h], ICD_PROGRAM)) == NULL || headers[h]->source == NULL)
            return CL_INVALID_PROGRAM;
        else if (names[h] == NULL)
            return CL_INVALID_VALUE;
    if (program->source == NULL || program->kernels > 0 || program->building > 0)
        return CL_INVALID_OPERATION;
    cl_int result = icd_bundle_open(program->source, options, header_count, headers, names, &bundle);
    if (bundle.too_many)
        result = too_many(program, place);
    bool opened = result == CL_SUCCESS;
    program->building++;
    for (int d = 0; d < program->context->device_count && opened; d++)
        if (place[d] && (status = build_one(program, d, DCLI_CL_COMPILE, &bundle, options)) != CL_SUCCESS)
            result = status;
    program->building--;
    icd_bundle_close(&bundle);
    return result == CL_BUILD_PROGRAM_FAILURE ? CL_COMPILE_PROGRAM_FAILURE : result;
}

cl_int CL_API_CALL icd_clCompileProgram(cl_program handle, cl_uint count, const cl_device_id *devices,
                                        const char *options, cl_uint header_count, const cl_program *headers,
                                        const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    if (notify == NULL && user != NULL)
        return CL_INVALID_VALUE;
    if (!icd_enter())
        return CL_INVALID_PROGRAM;
    icd_program *program = icd_hold(icd_find(handle, ICD_PROGRAM));
    cl_int status = compile(program, count, devices, options != NULL ? options : "", header_count, headers, names);
    icd_drop(program);
    icd_leave();
    if (notify != NULL && program != NULL) /* it is done when the call returns */
        notify(handle, user);
    return status;
}

static cl_int link_on(icd_program *program, int place, const char *options, cl_uint count, icd_program *inputs[])
{
    enum { MOST = DCLI_MOST_COMMAND_NUMBERS - 1 };
    const icd_bundle no_headers = {0};
    int64_t number[1 + MOST] = {icd_number()};
    for (cl_uint p = 0; p < count; p++) {
        icd_build *build = &inputs[p]->build[place];
        cl_int made =
            build->number != 0 ? CL_SUCCESS : make_on(inputs[p], place, &no_headers, NULL); /* from a binary */
        if (made != CL_SUCCESS)
            return made;
        number[1 + p] = build->number;
    }
    program->build[place].number = icd_number();
    dcli_msg_command command = {.kind = DCLI_CL_LINK,
                                .object = program->build[place].number,
                                .number_count = 1 + (int)count,
                                .number = number,
                                .text = options};
    bool library = strstr(options, "-create-library") != NULL;
    cl_int status = build_on(program, place, &command, options,
                             library ? CL_PROGRAM_BINARY_TYPE_LIBRARY : CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    return status == CL_BUILD_PROGRAM_FAILURE ? CL_LINK_PROGRAM_FAILURE : status;
}

/* Whether a program can be linked for a device: it was compiled, or it was made of a binary, which may be that of a
 * compiled program. */
static bool can_link(const icd_program *program, int place)
{
    const icd_build *build = &program->build[place];
    bool compiled = build->status == CL_BUILD_SUCCESS && (build->type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT ||
                                                          build->type == CL_PROGRAM_BINARY_TYPE_LIBRARY);
    return compiled || (build->status == CL_BUILD_NONE && build->binary != NULL);
}

/* Restrict the wanted devices to those for which all programs can be linked. A device for which none can be linked
 * is left out; one for which only some can be is an error. */
static cl_int keep_linkable(icd_program *program, cl_uint count, icd_program *inputs[])
{
    bool any = false;
    for (int d = 0; d < program->context->device_count; d++) {
        cl_uint able = 0;
        for (cl_uint p = 0; p < count; p++)
            able += can_link(inputs[p], d);
        if (program->build[d].wanted && able != 0 && able != count)
            return CL_INVALID_OPERATION;
        program->build[d].wanted = program->build[d].wanted && able == count;
        any = any || program->build[d].wanted;
    }
    return any ? CL_SUCCESS : CL_INVALID_OPERATION;
}

static cl_int link_programs(icd_context *context, cl_uint count, const cl_device_id devices[], const char *options,
                            cl_uint input_count, const cl_program handles[], icd_program **program_out)
{
    enum { MOST = DCLI_MOST_COMMAND_NUMBERS - 1 };
    icd_program *inputs[MOST];
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    if ((count == 0) != (devices == NULL) || input_count == 0 || handles == NULL)
        return CL_INVALID_VALUE;
    if (input_count > MOST || strlen(options) >= DCLI_MOST_TEXT)
        return CL_INVALID_LINKER_OPTIONS;
    for (cl_uint p = 0; p < input_count; p++)
        if ((inputs[p] = icd_find(handles[p], ICD_PROGRAM)) == NULL || inputs[p]->context != context)
            return CL_INVALID_PROGRAM;
    icd_program *program = make_program(context);
    if (program == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    cl_int status = CL_SUCCESS;
    for (int d = 0; d < context->device_count; d++)
        program->build[d].wanted = devices == NULL;
    for (cl_uint d = 0; d < count && status == CL_SUCCESS; d++) {
        int place = icd_place_of(context, devices[d]);
        if (place < 0)
            status = CL_INVALID_DEVICE;
        else
            program->build[place].wanted = true;
    }
    if (status == CL_SUCCESS)
        status = keep_linkable(program, input_count, inputs);
    for (int d = 0; d < context->device_count && status == CL_SUCCESS; d++)
        if (program->build[d].wanted)
            status = link_on(program, d, options, input_count, inputs);
    if (status == CL_SUCCESS || status == CL_LINK_PROGRAM_FAILURE) /* its log tells why it failed */
        *program_out = program;
    else
        icd_drop(program);
    return status;
}

cl_program CL_API_CALL icd_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                                         const char *options, cl_uint input_count, const cl_program *inputs,
                                         void(CL_CALLBACK *notify)(cl_program, void *), void *user, cl_int *status_out)
{
    cl_int status = notify == NULL && user != NULL ? CL_INVALID_VALUE : CL_SUCCESS;
    icd_program *program = NULL;
    if (status == CL_SUCCESS && icd_enter()) {
        status = link_programs(icd_find(context, ICD_CONTEXT), count, devices, options != NULL ? options : "",
                               input_count, inputs, &program);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    cl_program handle = program != NULL ? ICD_HANDLE(cl_program, program) : NULL;
    if (notify != NULL && handle != NULL) /* it is done when the call returns */
        notify(handle, user);
    return handle;
}

/* ---- queries ---- */

cl_int icd_program_ready(const icd_program *program, int place)
{
    const icd_build *build = &program->build[place];
    return build->status == CL_BUILD_SUCCESS && build->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE
               ? CL_SUCCESS
               : CL_INVALID_PROGRAM_EXECUTABLE;
}

static icd_build *first_ready(const icd_program *program)
{
    for (int d = 0; d < program->context->device_count; d++)
        if (icd_program_ready(program, d) == CL_SUCCESS)
            return &program->build[d];
    return NULL;
}

/* Get the binary of a device from its server. */
static cl_int fetch_binary(icd_program *program, int place, unsigned char **binary_out, size_t *bytes_out)
{
    icd_build *build = &program->build[place];
    *binary_out = NULL;
    *bytes_out = 0;
    if (build->status == CL_BUILD_NONE && build->binary != NULL) { /* of which it was made */
        if ((*binary_out = dcli_malloc(build->binary_bytes)) == NULL)
            return CL_OUT_OF_HOST_MEMORY;
        memcpy(*binary_out, build->binary, build->binary_bytes);
        *bytes_out = build->binary_bytes;
        return CL_SUCCESS;
    }
    if (build->number == 0 || build->status != CL_BUILD_SUCCESS)
        return CL_SUCCESS; /* it has none */
    icd_device *device = program->context->device[place];
    icd_question question = {.number = icd_number(), .kind = DCLI_ASK_BINARY, .object = build->number};
    icd_question_begin(device, &question);
    cl_int status = icd_question_await(device, &question);
    if (status == CL_SUCCESS) {
        *binary_out = question.data;
        *bytes_out = question.data_bytes;
        question.data = NULL;
    }
    icd_question_free(&question);
    return status;
}

/* Whether a program was made for a device or sub-device of its context. Parts of one device have a program together. */
static bool is_wanted(const icd_program *program, int shown)
{
    return program->build[icd_place_of_shown(program->context, shown)].wanted;
}

static cl_int answer_binaries(icd_program *program, bool sizes, size_t size, void *value, size_t *size_out)
{
    size_t bytes[ICD_MOST_DEVICES] = {0};
    unsigned char **out = value;
    int count = 0;
    cl_int status = CL_SUCCESS;
    for (int s = 0; s < program->context->shown_count; s++)
        count += is_wanted(program, s);
    size_t needed = (size_t)count * (sizes ? sizeof(size_t) : sizeof(unsigned char *));
    if (value != NULL && size < needed)
        return CL_INVALID_VALUE;
    if (size_out != NULL)
        *size_out = needed;
    for (int s = 0, n = 0; s < program->context->shown_count && value != NULL && status == CL_SUCCESS; s++) {
        unsigned char *binary;
        if (!is_wanted(program, s))
            continue;
        status = fetch_binary(program, icd_place_of_shown(program->context, s), &binary, &bytes[n]);
        if (status == CL_SUCCESS && !sizes && out[n] != NULL && binary != NULL)
            memcpy(out[n], binary, bytes[n]);
        dcli_free(binary);
        n++;
    }
    if (value != NULL && sizes && status == CL_SUCCESS)
        memcpy(value, bytes, needed);
    return status;
}

static cl_int answer_names(const icd_program *program, size_t size, void *value, size_t *size_out)
{
    const icd_build *build = first_ready(program);
    size_t length = 1;
    if (build == NULL)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    for (int k = 0; k < build->count; k++)
        length += strlen(build->declaration[k].name) + 1;
    char *text = dcli_calloc(length, 1);
    if (text == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    for (int k = 0; k < build->count; k++)
        strcat(strcat(text, k > 0 ? ";" : ""), build->declaration[k].name);
    cl_int result = icd_answer_text(text, size, value, size_out);
    dcli_free(text);
    return result;
}

static cl_int answer_program(icd_program *program, cl_program_info what, size_t size, void *value, size_t *size_out)
{
    cl_device_id devices[ICD_MOST_DEVICES];
    cl_uint count = 0;
    const icd_build *build;
    switch (what) {
    case CL_PROGRAM_REFERENCE_COUNT:
        return ICD_ANSWER(cl_uint, (cl_uint)program->object.refs - (cl_uint)program->kernels - 1);
    case CL_PROGRAM_CONTEXT:
        return ICD_ANSWER(cl_context, ICD_HANDLE(cl_context, program->context));
    case CL_PROGRAM_NUM_DEVICES:
    case CL_PROGRAM_DEVICES:
        for (int s = 0; s < program->context->shown_count; s++)
            if (is_wanted(program, s))
                devices[count++] = ICD_HANDLE(cl_device_id, program->context->shown[s]);
        return what == CL_PROGRAM_NUM_DEVICES ? ICD_ANSWER(cl_uint, count)
                                              : icd_answer(devices, count * sizeof devices[0], size, value, size_out);
    case CL_PROGRAM_SOURCE:
        return icd_answer_text(program->source != NULL ? program->source : "", size, value, size_out);
    case CL_PROGRAM_IL:
        return icd_answer("", 0, size, value, size_out);
    case CL_PROGRAM_BINARY_SIZES:
    case CL_PROGRAM_BINARIES:
        return answer_binaries(program, what == CL_PROGRAM_BINARY_SIZES, size, value, size_out);
    case CL_PROGRAM_NUM_KERNELS:
        build = first_ready(program);
        return build == NULL ? CL_INVALID_PROGRAM_EXECUTABLE : ICD_ANSWER(size_t, (size_t)build->count);
    case CL_PROGRAM_KERNEL_NAMES:
        return answer_names(program, size, value, size_out);
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
        return ICD_ANSWER(cl_bool, CL_FALSE);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL icd_clGetProgramInfo(cl_program handle, cl_program_info what, size_t size, void *value,
                                        size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_PROGRAM;
    icd_program *program = icd_hold(icd_find(handle, ICD_PROGRAM)); /* a question gives the lock up */
    cl_int result = program == NULL ? CL_INVALID_PROGRAM : answer_program(program, what, size, value, size_out);
    icd_drop(program);
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clGetProgramBuildInfo(cl_program handle, cl_device_id device, cl_program_build_info what,
                                             size_t size, void *value, size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_PROGRAM;
    const icd_program *program = icd_find(handle, ICD_PROGRAM);
    int place = program != NULL ? icd_place_of(program->context, device) : -1;
    const icd_build *build = place >= 0 ? &program->build[place] : NULL;
    cl_int result = program == NULL                   ? CL_INVALID_PROGRAM
                    : build == NULL || !build->wanted ? CL_INVALID_DEVICE
                    : what == CL_PROGRAM_BUILD_STATUS ? ICD_ANSWER(cl_build_status, build->status)
                    : what == CL_PROGRAM_BUILD_OPTIONS
                        ? icd_answer_text(build->options != NULL ? build->options : "", size, value, size_out)
                    : what == CL_PROGRAM_BUILD_LOG
                        ? icd_answer_text(build->log != NULL ? build->log : "", size, value, size_out)
                    : what == CL_PROGRAM_BINARY_TYPE ? ICD_ANSWER(cl_program_binary_type, build->type)
                    : what == CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE ? ICD_ANSWER(size_t, 0)
                                                                          : CL_INVALID_VALUE;
    icd_leave();
    return result;
}
