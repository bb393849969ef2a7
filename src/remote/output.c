/* remote/output.c - sends what kernels print to the program. The driver of the device writes the text to the standard
 * output of this process, which is a pipe; the serving thread reads the pipe and sends the text. It is sent before the
 * end of the command is reported. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "remote/inside.h"

enum { PART = 64 << 10 /* bytes of a pipe, and of a message */ };

struct dcli_kernel_output {
    int pipe, before; /* end to read; the standard output that was there before */
    pthread_t thread;
    sem_t emptied;
    dcli_endpoint *endpoint;
    int64_t sent, granted;
};

/* Wake the serving thread when something was printed, and wait until it has taken it. */
static void *notice(void *argument)
{
    dcli_kernel_output *printer = argument;
    struct pollfd wanted = {.fd = printer->pipe, .events = POLLIN};
    while (poll(&wanted, 1, -1) < 0 ? errno == EINTR : (wanted.revents & POLLIN) != 0) {
        dcli_endpoint_wake(printer->endpoint);
        while (sem_wait(&printer->emptied) != 0)
            ;
    }
    return NULL;
}

dcl_status dcli_kernel_output_open(dcli_remote *remote)
{
    int ends[2];
    dcli_kernel_output *printer = dcli_calloc(1, sizeof *printer);
    if (printer == NULL)
        return DCL_ERR_NOMEM;
    *printer = (dcli_kernel_output){.endpoint = remote->terms.endpoint, .granted = DCLI_OUTPUT_AHEAD};
    printer->before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (printer->before < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        dcli_free(printer);
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "there is no descriptor for what kernels print; close files of this process");
    }
    printer->pipe = ends[0];
    sem_init(&printer->emptied, 0, 0);
    fcntl(printer->pipe, F_SETFL, O_NONBLOCK);
    fflush(stdout);
    setvbuf(stdout, NULL, _IONBF, 0); /* so that nothing remains in this process */
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    if (pthread_create(&printer->thread, NULL, notice, printer) != 0) {
        dup2(printer->before, STDOUT_FILENO);
        close(printer->before);
        close(printer->pipe);
        dcli_free(printer);
        return DCLI_FAIL(DCL_ERR_NOMEM, "a thread for what kernels print cannot be started; close other programs");
    }
    remote->printer = printer;
    return DCL_OK;
}

/* Send one part. @return false: there is none, or no more may be sent now. */
static bool send_part(dcli_remote *remote, dcli_kernel_output *printer)
{
    if (printer->granted - printer->sent < PART)
        return false;
    void *bytes = dcli_buffers_take(remote->terms.buffers, PART);
    ssize_t length = bytes != NULL ? read(printer->pipe, bytes, PART) : -1;
    if (length <= 0) {
        if (bytes != NULL)
            dcli_buffers_give(bytes);
        return false;
    }
    dcli_message message = {.kind = DCLI_MSG_DATA,
                            .epoch = remote->terms.session,
                            .data = {.transfer = DCLI_OUTPUT_TRANSFER, .offset = printer->sent}};
    dcli_payload payload = {.bytes = bytes, .length = (size_t)length, .release = dcli_payload_give};
    printer->sent += length;
    dcli_endpoint_send(remote->terms.endpoint, remote->terms.client, &message, &payload); /* receiving reports errors */
    return true;
}

void dcli_kernel_output_send(dcli_remote *remote)
{
    dcli_kernel_output *printer = remote->printer;
    int waiting = 0;
    if (printer == NULL)
        return;
    while (send_part(remote, printer))
        ;
    if (printer->granted - printer->sent >= PART && sem_getvalue(&printer->emptied, &waiting) == 0 && waiting <= 0)
        sem_post(&printer->emptied);
}

bool dcli_kernel_output_waits(const dcli_remote *remote)
{
    const dcli_kernel_output *printer = remote->printer;
    int bytes = 0;
    return printer != NULL && printer->granted - printer->sent < PART && ioctl(printer->pipe, FIONREAD, &bytes) == 0 &&
           bytes > 0;
}

bool dcli_kernel_output_taken(dcli_remote *remote, int64_t taken)
{
    dcli_kernel_output *printer = remote->printer;
    if (printer == NULL || taken > printer->sent)
        return false;
    printer->granted = dcli_max(printer->granted, taken + DCLI_OUTPUT_AHEAD);
    return true;
}

void dcli_kernel_output_close(dcli_remote *remote)
{
    dcli_kernel_output *printer = remote->printer;
    if (printer == NULL)
        return;
    remote->printer = NULL;
    fflush(stdout);
    dup2(printer->before, STDOUT_FILENO); /* the last end to write: the thread sees the end */
    close(printer->before);
    char rest[PART];
    while (read(printer->pipe, rest, sizeof rest) > 0)
        ;
    sem_post(&printer->emptied);
    pthread_join(printer->thread, NULL);
    close(printer->pipe);
    sem_destroy(&printer->emptied);
    dcli_free(printer);
}
