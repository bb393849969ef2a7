/* fleet/confine_calls.c - restrict system calls of a session's process, by seccomp: what Landlock does not cover.
 * It blocks sockets other than TCP (a service that listens on a Unix socket may start programs for this user), calls
 * that reach into other processes, the user's keys, and interfaces with a history of vulnerabilities. Blocked calls
 * fail with EPERM, so a driver that tries one continues without it.
 * Source: seccomp(2); Documentation/userspace-api/seccomp_filter.rst. */
#include "fleet/confine_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#if defined(__x86_64__)
static const unsigned arch = AUDIT_ARCH_X86_64,
                      other_numbers = 0x40000000; /* this bit marks calls of the x32 interface */
#elif defined(__aarch64__)
static const unsigned arch = AUDIT_ARCH_AARCH64, other_numbers = 0;
#else
static const unsigned arch = 0, other_numbers = 0;
#endif

/* Call numbers that older headers lack; they are the same on all machines. */
enum {
    OPEN_TREE = 428,
    MOVE_MOUNT = 429,
    FSOPEN = 430,
    FSCONFIG = 431,
    FSMOUNT = 432,
    FSPICK = 433,
    CLONE3 = 435,
    PIDFD_GETFD = 438,
    PROCESS_MADVISE = 440,
    MOUNT_SETATTR = 442,
    FCHMODAT2 = 452
};

static const int refused[] = {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    SYS_ptrace, /* sanitizers stop their own threads with it */
#endif
    /* other processes */
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    PIDFD_GETFD,
    SYS_pidfd_send_signal,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    PROCESS_MADVISE,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_setpriority,
    SYS_ioprio_set,
    /* System V objects are shared by user, not by folder or descriptor */
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_shmdt,
    SYS_semget,
    SYS_semop,
    SYS_semctl,
    SYS_semtimedop,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    /* keys of the user */
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    /* interfaces that a session does not need */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    /* administration of the system, possible if a worker runs as root */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    OPEN_TREE,
    MOVE_MOUNT,
    FSOPEN,
    FSCONFIG,
    FSMOUNT,
    FSPICK,
    MOUNT_SETATTR,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_fanotify_init,
    /* changing modes and owners of files, which Landlock does not control */
    SYS_fchmod,
    SYS_fchmodat,
    FCHMODAT2,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_mknodat,
    SYS_truncate, /* not covered by the first versions of Landlock */
#if defined(__x86_64__)
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_kexec_file_load,
#endif
};

enum { REFUSED = sizeof refused / sizeof refused[0], MOST_STEPS = 2 * REFUSED + 128 };

typedef struct program {
    struct sock_filter step[MOST_STEPS];
    unsigned short count;
} program;

static void add(program *filter, int code, unsigned operand, int then, int otherwise)
{
    filter->step[filter->count++] =
        (struct sock_filter){(unsigned short)code, (unsigned char)then, (unsigned char)otherwise, operand};
}

static void load(program *filter, size_t offset) { add(filter, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0); }

/* Load the low half of an argument: all compared arguments are int, and the kernel uses only this half. */
static void load_argument(program *filter, int number)
{
    load(filter,
         offsetof(struct seccomp_data, args) + (size_t)number * 8 + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0));
}

static void refuse(program *filter) { add(filter, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0); }
static void accept_call(program *filter) { add(filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0); }

static void refuse_call(program *filter, int number)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
    refuse(filter);
}

/* Allow the call only on the calling process itself.
 * @param zero  whether 0 means the process itself, too: for kill() it means a group.
 * @param error  what the call returns for other processes; 0: it does nothing and reports success. */
static void allow_itself(program *filter, int number, bool zero, unsigned error)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, zero ? 5 : 4);
    load_argument(filter, 0);
    if (zero)
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 0, 1);
    accept_call(filter);
    add(filter, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0, 0);
}

/* Refuse a call if its argument number `argument` has any of these bits. */
static void refuse_bits(program *filter, int number, int argument, unsigned bits)
{
    enum { STEPS = 4 };
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, STEPS);
    load_argument(filter, argument);
    add(filter, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    refuse(filter);
    accept_call(filter);
}

/* Refuse to choose another process as receiver of a descriptor's signals. This is not left to Landlock, because older
 * versions do not restrict signals. */
static void refuse_owners(program *filter)
{
    static const struct {
        int number;
        unsigned command[3];
    } by[] = {{SYS_fcntl, {F_SETOWN, F_SETOWN_EX, F_SETSIG}}, {SYS_ioctl, {FIOSETOWN, SIOCSPGRP, SIOCSPGRP}}};
    enum { STEPS = 6 };
    for (size_t b = 0; b < sizeof by / sizeof by[0]; b++) {
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)by[b].number, 0, STEPS);
        load_argument(filter, 1);
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, by[b].command[0], 2, 0);
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, by[b].command[1], 1, 0);
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, by[b].command[2], 0, 1);
        refuse(filter);
        accept_call(filter);
    }
}

/* Refuse new namespaces, in which a process would have all rights. A filter cannot read the arguments of clone3(), so
 * it returns ENOSYS, and the C library uses clone() instead. */
static void refuse_namespaces(program *filter)
{
    const unsigned new_namespaces =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    refuse_bits(filter, SYS_clone, 0, new_namespaces);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, CLONE3, 0, 1);
    add(filter, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
}

/* Allow only plain TCP sockets: Landlock's port rules do not cover MPTCP, nor data sent with the first packet (TCP Fast
 * Open). */
static void refuse_sockets(program *filter)
{
    enum { STEPS = 11, TYPE = 0xf };
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, STEPS);
    load_argument(filter, 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 7);
    load_argument(filter, 1);
    add(filter, BPF_ALU | BPF_AND | BPF_K, TYPE, 0, 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 0, 4);
    load_argument(filter, 2);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 1);
    accept_call(filter);
    refuse(filter);
}

/* Refuse changes of process settings that keep the process bound to its parent and hidden from tracing. */
static void refuse_settings(program *filter)
{
    enum { STEPS = 5 };
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, STEPS);
    load_argument(filter, 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 2, 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_DUMPABLE, 1, 0);
    accept_call(filter);
    refuse(filter);
}

static void make(program *filter)
{
    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0);
    refuse(filter);
    load(filter, offsetof(struct seccomp_data, nr));
    if (other_numbers != 0) {
        add(filter, BPF_JMP | BPF_JGE | BPF_K, other_numbers, 0, 1);
        refuse(filter);
    }
    for (int r = 0; r < REFUSED; r++)
        refuse_call(filter, refused[r]);
    allow_itself(filter, SYS_kill, false, EPERM);
    allow_itself(filter, SYS_tgkill, false, EPERM);
    allow_itself(filter, SYS_prlimit64, true, EPERM);
    /* The threads of the network library set their own scheduling when they start, possibly after this filter is
     * installed, and abort the process if that fails. A filter cannot recognise the id of an own thread, so the call
     * does nothing and reports success. */
    allow_itself(filter, SYS_sched_setscheduler, true, 0);
    allow_itself(filter, SYS_sched_setparam, true, EPERM);
    allow_itself(filter, SYS_sched_setattr, true, EPERM);
    refuse_owners(filter);
    refuse_namespaces(filter);
    refuse_settings(filter);
    refuse_sockets(filter);
    refuse_bits(filter, SYS_sendto, 3, MSG_FASTOPEN);
    refuse_bits(filter, SYS_sendmsg, 2, MSG_FASTOPEN);
    refuse_bits(filter, SYS_sendmmsg, 3, MSG_FASTOPEN);
    accept_call(filter);
}

bool dcli_calls_can_be_filtered(void)
{
    unsigned action = SECCOMP_RET_ERRNO;
    return arch != 0 && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

dcl_status dcli_calls_filter(void)
{
    program filter = {.count = 0};
    make(&filter);
    struct sock_fprog loaded = {.len = filter.count, .filter = filter.step};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &loaded) == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                     "a process of a session cannot be contained: seccomp: %s; see \"Containment\" in docs/workers.md, "
                     "or start the worker with --contain off",
                     strerror(errno));
}
