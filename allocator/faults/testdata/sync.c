// Replaces fsync and fdatasync: each takes a random time, up to SYNC_DELAY_MS, and then the size that the file had before is
// appended to SYNC_LOG. Nothing is really synced, since a process that is killed keeps its page cache, and a cut makes the loss.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned seed;

static int note(int fd) {
  struct stat before;
  char link[64], path[4096], line[4200];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0 || fstat(fd, &before) != 0) return 0;
  path[n] = 0;
  char *log = getenv("SYNC_LOG"), *delay = getenv("SYNC_DELAY_MS");
  if (!log || !strstr(path, ".incr.aof")) return 0;
  int most = delay ? atoi(delay) : 0;
  if (most > 0) {
    pthread_mutex_lock(&mutex);
    if (!seed) seed = (unsigned)time(NULL) ^ (unsigned)getpid();
    int ms = rand_r(&seed) % most;
    pthread_mutex_unlock(&mutex);
    struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&pause, NULL);
  }
  pthread_mutex_lock(&mutex);
  int f = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  int length = snprintf(line, sizeof line, "%lld %s\n", (long long)before.st_size, path);
  int failed = f < 0 || write(f, line, length) != length;
  if (f >= 0) close(f);
  pthread_mutex_unlock(&mutex);
  return failed ? -1 : 0;
}

int fsync(int fd) { return note(fd); }
int fdatasync(int fd) { return note(fd); }
