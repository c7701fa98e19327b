"""Lets a program's clocks jump, through a preloaded library."""

import struct
import subprocess

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
/* The wall clock, or with $WEIR_TEST_MONOTONIC the monotonic one, runs ahead by the seconds in the
   file $WEIR_TEST_CLOCK (eight bytes). */
static int64_t ahead(void) {
    int64_t seconds = 0;
    const char* path = getenv("WEIR_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    if (read(file, &seconds, sizeof seconds) != sizeof seconds) seconds = 0;
    close(file);
    return seconds;
}
static int jumps(clockid_t clock) {
    if (getenv("WEIR_TEST_MONOTONIC"))
        return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (jumps(clock)) now->tv_sec += ahead();
    return result;
}
int gettimeofday(struct timeval* now, void* zone) {
    (void)zone;
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
time_t time(time_t* out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"""


def build_clock(folder):
    """The library, and the file of the seconds by which the clock is ahead (none yet)."""
    source, library, offset = (folder / name for name in ("clock.c", "clock.so", "offset"))
    source.write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True, timeout=60)
    offset.write_bytes(struct.pack("q", 0))
    return library, offset
