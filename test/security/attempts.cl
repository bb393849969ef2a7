/* What a kernel tries that is native code of a hostile client's: one attempt per number, the system's answer as its result.
 * @NAME@ is replaced by the test. */
#ifdef __x86_64__
/* The fifth and sixth arguments are 0: process_vm_readv() refuses other flags. */
static long call(long number, long a, long b, long c, long d)
{
    long result;
    __asm__ volatile("movq %5, %%r10\n\txorl %%r8d, %%r8d\n\txorl %%r9d, %%r9d\n\tsyscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d)
                     : "rcx", "r8", "r9", "r10", "r11", "memory");
    return result;
}
enum { OPENAT = 257, CLOSE = 3, UNLINKAT = 263, SOCKET = 41, CONNECT = 42, KILL = 62, PTRACE = 101, READV_OF = 310,
       CHMODAT = 268, PRCTL = 157, EXIT = 60, FORK = 57, SETSID = 112, PAUSE = 34, TGKILL = 234, SENDMSG = 46, SHMGET = 29,
       SHMCTL = 31, CLONE = 56, FCNTL = 72, TRUNCATE = 76, PRLIMIT = 302 };
#endif

enum { HERE = -100, READ_ONLY = 0, CREATE = 0101, UNIX = 1, INET = 2, STREAM = 1, DATAGRAM = 2, MPTCP = 262 };

static __constant char secret[] = "@SECRET@", account[] = "/etc/passwd", token[] = "@TOKEN@", made[] = "@MADE@", doomed[] = "@DOOMED@",
                       library[] = "@LIBRARY@", given[] = "@GIVEN@", parent[] = "/proc/@PARENT@/environ",
                       sibling[] = "/proc/@SIBLING@/mem", other[] = "@OTHER@", own[] = "@OWN@", r[] = "r";

/* The C library's, which the process has loaded; the driver's own linker knows no such name. */
static long fopen_it(__constant char *path, __constant char *mode)
{
    long result, to = (long)path, how = (long)mode;
    __asm__ volatile("movq %%rsp, %%rbx\n\tsubq $256, %%rsp\n\tandq $-64, %%rsp\n\t"
                     "call fopen@PLT\n\tmovq %%rbx, %%rsp"
                     : "=a"(result), "+D"(to), "+S"(how)
                     :
                     : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3",
                       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15");
    return result;
}

static long open_it(__constant char *path, long flags)
{
    long fd = call(OPENAT, HERE, (long)path, flags, 0600);
    return fd < 0 ? fd : (call(CLOSE, fd, 0, 0, 0), 1);
}

/* Of 127.0.0.1. */
static long connect_to(int port)
{
    uchar address[16] = {INET, 0, (uchar)(port >> 8), (uchar)port, 127, 0, 0, 1};
    long fd = call(SOCKET, INET, STREAM, 0, 0), result = fd < 0 ? fd : call(CONNECT, fd, (long)address, 16, 0);
    if (fd >= 0)
        call(CLOSE, fd, 0, 0, 0);
    return result;
}

/* To 127.0.0.1, with the connection. */
static long send_to(int port)
{
    uchar address[16] = {INET, 0, (uchar)(port >> 8), (uchar)port, 127, 0, 0, 1};
    long vector[2] = {(long)address, 1}, message[7] = {(long)address, 16, (long)vector, 1, 0, 0, 0};
    long fd = call(SOCKET, INET, STREAM, 0, 0), result = fd < 0 ? fd : call(SENDMSG, fd, (long)message, 0x20004000, 0);
    if (fd >= 0)
        call(CLOSE, fd, 0, 0, 0);
    return result;
}

static long share(void)
{
    long id = call(SHMGET, 0, 4096, 0600, 0);
    return id < 0 ? id : (call(SHMCTL, id, 0, 0, 0), 1);
}

static long new_namespace(void)
{
    long child = call(CLONE, 0x10000000 | 17, 0, 0, 0);
    if (child == 0)
        call(EXIT, 0, 0, 0, 0);
    return child;
}

static long signal_by_socket(void)
{
    long fd = call(SOCKET, INET, STREAM, 0, 0), result = fd < 0 ? fd : call(FCNTL, fd, 8, @PARENT@, 0);
    if (fd >= 0)
        call(CLOSE, fd, 0, 0, 0);
    return result;
}

static long limit_of(long pid)
{
    long old[2];
    return call(PRLIMIT, pid, 0, 0, (long)old);
}

/* A process that leaves everything that its parent could end it by. */
static long leave_one(void)
{
    long child = call(FORK, 0, 0, 0, 0);
    if (child != 0)
        return child > 0 ? 1 : child;
    call(SETSID, 0, 0, 0, 0);
    if (call(FORK, 0, 0, 0, 0) == 0)
        for (;;)
            call(PAUSE, 0, 0, 0, 0);
    call(EXIT, 0, 0, 0, 0);
    return 0;
}

int attempt(long i)
{
    switch (i) {
    case 0: return (int)open_it(secret, READ_ONLY);
    case 1: return (int)open_it(account, READ_ONLY);
    case 2: return (int)open_it(token, READ_ONLY);
    case 3: return fopen_it(secret, r) == 0 ? -13 : 1;
    case 4: return (int)open_it(made, CREATE);
    case 5: return (int)call(UNLINKAT, HERE, (long)doomed, 0, 0);
    case 6: return (int)call(CHMODAT, HERE, (long)secret, 0777, 0);
    case 7: return (int)open_it(parent, READ_ONLY);
    case 8: return (int)open_it(sibling, READ_ONLY);
    case 9: return (int)open_it(other, CREATE);
    case 10: return (int)connect_to(@PORT@);
    case 11: return (int)connect_to(@LISTENER@);
    case 12: return (int)call(SOCKET, UNIX, STREAM, 0, 0);
    case 13: return (int)call(SOCKET, INET, DATAGRAM, 0, 0);
    case 14: return (int)call(SOCKET, INET, STREAM, MPTCP, 0);
    case 15: return (int)call(KILL, @PARENT@, 0, 0, 0);
    case 16: return (int)call(KILL, @SIBLING@, 0, 0, 0);
    case 17: return (int)call(PTRACE, 0x4206, @VICTIM@, 0, 0);
    case 18: return (int)call(PTRACE, 0x4206, @SIBLING@, 0, 0);
    case 19: return (int)call(READV_OF, @VICTIM@, 0, 0, 0);
    case 20: return (int)call(PRCTL, 4, 1, 0, 0); /* to be traced */
    case 21: return (int)call(TGKILL, @PARENT@, @PARENT@, 0, 0);
    case 22: return (int)limit_of(@PARENT@);
    case 23: return (int)send_to(@PORT@);
    case 24: return (int)share();
    case 25: return (int)new_namespace();
    case 26: return (int)call(TRUNCATE, (long)given, 5, 0, 0);
    case 27: return (int)signal_by_socket();
    /* what a session needs */
    case 32: return (int)open_it(library, READ_ONLY);
    case 33: return (int)open_it(given, READ_ONLY);
    case 34: return (int)open_it(own, CREATE);
    case 35: return @LEAVE@ ? (int)leave_one() : 1;
    default: return 0;
    }
}
