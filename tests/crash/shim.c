/* Makes one system call of a process go wrong, as a full disk, a failing one or a sudden death does.
 *
 * Preloaded into the program (LD_PRELOAD). FAULT = op,path,nth,act where
 *   op    write, open (for writing), rename, unlink, sync, cut (ftruncate), connect
 *   path  a part of the file's name; `*` for any
 *   nth   the nth such call, from 1; `4+` means the fourth and all after it
 *   act   kill   the process dies before the call
 *         torn   it dies after half of the bytes (write)
 *         after  it dies right after the call
 *         full, io, readonly, files, unreachable: the call fails with that error; a write to a full
 *                disk first takes half of the bytes, as a real one does
 * FAULT_HIT names a file that is created when the fault strikes. CLOCK_SHIFT moves the wall clock by
 * so many seconds, and leaves the monotonic clock alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char op[16], path[128], act[16];
static long nth, seen;
static int onward, armed;
static long shift;

__attribute__((constructor)) static void read_fault(void) {
    const char *fault = getenv("FAULT");
    const char *moved = getenv("CLOCK_SHIFT");
    char number[16];
    if (moved) shift = atol(moved);
    if (!fault) return;
    if (sscanf(fault, "%15[^,],%127[^,],%15[^,],%15s", op, path, number, act) != 4) {
        fprintf(stderr, "FAULT is not op,path,nth,act: %s\n", fault);
        _exit(99);
    }
    nth = atol(number);
    onward = number[strlen(number) - 1] == '+';
    armed = 1;
}

static void struck(void) {
    const char *hit = getenv("FAULT_HIT");
    if (!hit) return;
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int fd = real(hit, O_CREAT | O_WRONLY, 0644);
    if (fd >= 0) close(fd);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Returns true if the fault strikes this call. */
static int strikes(const char *call, const char *name) {
    if (!armed || strcmp(call, op) != 0) return 0;
    if (strcmp(path, "*") != 0 && (!name || !strstr(name, path))) return 0;
    long now = __sync_add_and_fetch(&seen, 1);
    if (onward ? now < nth : now != nth) return 0;
    if (now == nth) struck();
    if (strcmp(act, "kill") == 0) die();
    return 1;
}

static int number_of_error(void) {
    if (strcmp(act, "full") == 0) return ENOSPC;
    if (strcmp(act, "readonly") == 0) return EROFS;
    if (strcmp(act, "files") == 0) return EMFILE;
    if (strcmp(act, "unreachable") == 0) return ENETUNREACH;
    return EIO;
}

static int dies_after(void) { return strcmp(act, "after") == 0; }

static const char *name_of(int fd, char *buffer, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, size - 1);
    if (length < 0) return NULL;
    buffer[length] = 0;
    return buffer;
}

#define REAL(type, name)                                                                       \
    static __typeof__(type) real;                                                              \
    if (!real) real = (__typeof__(type))dlsym(RTLD_NEXT, name)

/* A write of `count` bytes by `half` (which writes so many), or by `whole`. */
#define WRITE(fd, count, all, half)                                                            \
    do {                                                                                       \
        char buffer[512];                                                                      \
        if (!armed || strcmp(op, "write") != 0) return all;                                    \
        if (!strikes("write", name_of(fd, buffer, sizeof buffer))) return all;                 \
        if (strcmp(act, "torn") == 0) {                                                        \
            (void)!half;                                                                       \
            die();                                                                             \
        }                                                                                      \
        if (dies_after()) {                                                                    \
            (void)!all;                                                                        \
            die();                                                                             \
        }                                                                                      \
        if (strcmp(act, "full") == 0 && seen == nth && count > 1) return half;                 \
        errno = number_of_error();                                                             \
        return -1;                                                                             \
    } while (0)

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(ssize_t (*)(int, const void *, size_t), "write");
    WRITE(fd, count, real(fd, bytes, count), real(fd, bytes, count / 2));
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    REAL(ssize_t (*)(int, const void *, size_t, off_t), "pwrite");
    WRITE(fd, count, real(fd, bytes, count, at), real(fd, bytes, count / 2, at));
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    REAL(ssize_t (*)(int, const void *, size_t, off64_t), "pwrite64");
    WRITE(fd, count, real(fd, bytes, count, at), real(fd, bytes, count / 2, at));
}

#define CALL(call, name, expression)                                                           \
    do {                                                                                       \
        if (!strikes(call, name)) return expression;                                           \
        if (dies_after()) {                                                                    \
            (void)!expression;                                                                 \
            die();                                                                             \
        }                                                                                      \
        errno = number_of_error();                                                             \
        return -1;                                                                             \
    } while (0)

static mode_t mode_of(int flags, va_list *rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(*rest, mode_t) : 0;
}

/* Only opening for writing goes wrong: what is there can be read. */
#define OPEN(name)                                                                             \
    va_list rest;                                                                              \
    va_start(rest, flags);                                                                     \
    mode_t mode = mode_of(flags, &rest);                                                       \
    va_end(rest);                                                                              \
    REAL(int (*)(const char *, int, ...), name);                                               \
    if ((flags & O_ACCMODE) == O_RDONLY) return real(file, flags, mode);                       \
    CALL("open", file, real(file, flags, mode))

int open(const char *file, int flags, ...) { OPEN("open"); }
int open64(const char *file, int flags, ...) { OPEN("open64"); }

int rename(const char *from, const char *to) {
    REAL(int (*)(const char *, const char *), "rename");
    CALL("rename", from, real(from, to));
}

int unlink(const char *file) {
    REAL(int (*)(const char *), "unlink");
    CALL("unlink", file, real(file));
}

int fsync(int fd) {
    char buffer[512];
    REAL(int (*)(int), "fsync");
    if (!armed || strcmp(op, "sync") != 0) return real(fd);
    CALL("sync", name_of(fd, buffer, sizeof buffer), real(fd));
}

int fdatasync(int fd) {
    char buffer[512];
    REAL(int (*)(int), "fdatasync");
    if (!armed || strcmp(op, "sync") != 0) return real(fd);
    CALL("sync", name_of(fd, buffer, sizeof buffer), real(fd));
}

int ftruncate(int fd, off_t length) {
    char buffer[512];
    REAL(int (*)(int, off_t), "ftruncate");
    if (!armed || strcmp(op, "cut") != 0) return real(fd, length);
    CALL("cut", name_of(fd, buffer, sizeof buffer), real(fd, length));
}

int ftruncate64(int fd, off64_t length) {
    char buffer[512];
    REAL(int (*)(int, off64_t), "ftruncate64");
    if (!armed || strcmp(op, "cut") != 0) return real(fd, length);
    CALL("cut", name_of(fd, buffer, sizeof buffer), real(fd, length));
}

int fallocate(int fd, int how, off_t at, off_t length) {
    char buffer[512];
    REAL(int (*)(int, int, off_t, off_t), "fallocate");
    /* A full disk refuses room set aside as it refuses bytes. */
    if (armed && strcmp(op, "write") == 0 && strcmp(act, "full") == 0 && seen >= nth) {
        const char *name = name_of(fd, buffer, sizeof buffer);
        if (name && strstr(name, path)) {
            errno = ENOSPC;
            return -1;
        }
    }
    return real(fd, how, at, length);
}

int connect(int fd, const struct sockaddr *to, socklen_t length) {
    REAL(int (*)(int, const struct sockaddr *, socklen_t), "connect");
    CALL("connect", NULL, real(fd, to, length));
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    REAL(int (*)(clockid_t, struct timespec *), "clock_gettime");
    int done = real(clock, at);
    if (clock == CLOCK_REALTIME) at->tv_sec += shift;
    return done;
}
