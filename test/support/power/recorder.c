/*
 * Preloaded into PostgreSQL: records what its processes do to the files below POWER_ROOT, as recorder.ts does for Node. Each call is made while the record
 * is locked, so both have one order.
 *
 * PostgreSQL writes files by these functions only; power-postgres.deep.test.ts compares the record of all with the files themselves.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((typeof(&name))real_of(#name))

enum { FILES = 65536 };

static int log_fd = -1;
static const char *root = "";
/* By descriptor: 'f' is a file below the root, 'd' a folder. Children inherit it with the descriptors. */
static char inside[FILES];
static char *paths[FILES];

static void *real_of(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  const char *log = getenv("POWER_LOG");
  const char *below = getenv("POWER_ROOT");
  if (!log || !below) return;
  /* PostgreSQL writes its title over its environment. */
  root = strdup(below);
  log_fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static void lock(short type) {
  struct flock all = {.l_type = type, .l_whence = SEEK_SET};
  if (log_fd < 0) return;
  while (fcntl(log_fd, F_SETLKW, &all) < 0 && errno == EINTR) continue;
}

/* Absolute, without "." and "..". */
static void resolve(const char *path, char *to) {
  char whole[2 * PATH_MAX];
  char *rest = NULL;
  if (path[0] == '/') snprintf(whole, sizeof whole, "%s", path);
  else {
    char here[PATH_MAX];
    snprintf(whole, sizeof whole, "%s/%s", getcwd(here, sizeof here) ? here : "", path);
  }
  to[0] = 0;
  for (char *part = strtok_r(whole, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
    char *last = strrchr(to, '/');
    if (strcmp(part, ".") == 0) continue;
    if (strcmp(part, "..") == 0) {
      if (last) *last = 0;
    } else if (strlen(to) + strlen(part) + 2 < PATH_MAX) sprintf(to + strlen(to), "/%s", part);
  }
}

static int is_inside(const char *path) {
  size_t length = strlen(root);
  return log_fd >= 0 && length > 0 && strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* `bytes` may be NULL. A record that is incomplete would be believed. */
static void record(const char *line, const void *bytes, size_t length) {
  struct iovec parts[2] = {{(void *)line, strlen(line)}, {(void *)bytes, length}};
  ssize_t whole = (ssize_t)(parts[0].iov_len + length);
  if (REAL(writev)(log_fd, parts, bytes ? 2 : 1) != whole) abort();
}

static void record_path(const char *does, const char *path, const char *to) {
  char line[3 * PATH_MAX];
  if (to) snprintf(line, sizeof line, "{\"does\":\"%s\",\"path\":\"%s\",\"to\":\"%s\"}\n", does, path, to);
  else snprintf(line, sizeof line, "{\"does\":\"%s\",\"path\":\"%s\"}\n", does, path);
  record(line, NULL, 0);
}

static unsigned long number_of(int fd) {
  struct stat found;
  if (fstat(fd, &found) < 0) abort();
  return (unsigned long)found.st_ino;
}

static void record_write(int fd, const void *bytes, size_t length, off_t at) {
  char line[200];
  snprintf(line, sizeof line, "{\"does\":\"write\",\"file\":%lu,\"at\":%lld,\"length\":%zu}\n", number_of(fd), (long long)at, length);
  record(line, bytes, length);
}

static void record_file(const char *does, int fd, const char *path, long long size) {
  char line[2 * PATH_MAX];
  if (path) snprintf(line, sizeof line, "{\"does\":\"%s\",\"path\":\"%s\",\"file\":%lu}\n", does, path, number_of(fd));
  else if (size >= 0) snprintf(line, sizeof line, "{\"does\":\"%s\",\"file\":%lu,\"size\":%lld}\n", does, number_of(fd), size);
  else snprintf(line, sizeof line, "{\"does\":\"%s\",\"file\":%lu}\n", does, number_of(fd));
  record(line, NULL, 0);
}

static int kind_of(int fd) { return fd >= 0 && fd < FILES ? inside[fd] : 0; }

static void note(int fd, const char *path, int existed, int is_truncated) {
  struct stat found;
  if (fd < 0 || fd >= FILES || fstat(fd, &found) < 0) return;
  inside[fd] = S_ISDIR(found.st_mode) ? 'd' : 'f';
  free(paths[fd]);
  paths[fd] = strdup(path);
  if (inside[fd] == 'd') return;
  record_file(existed ? "open" : "create", fd, path, -1);
  if (existed && is_truncated) record_file("truncate", fd, NULL, 0);
}

int open(const char *path, int flags, ...) {
  char whole[PATH_MAX];
  struct stat before;
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  resolve(path, whole);
  if (!is_inside(whole)) return REAL(open)(path, flags, mode);
  lock(F_WRLCK);
  int existed = stat(path, &before) == 0;
  int fd = REAL(open)(path, flags, mode);
  int error = errno;
  note(fd, whole, existed, flags & O_TRUNC);
  lock(F_UNLCK);
  errno = error;
  return fd;
}

int close(int fd) {
  if (kind_of(fd)) inside[fd] = 0;
  return REAL(close)(fd);
}

static ssize_t written(int fd, const struct iovec *parts, int count, off_t at, int moves) {
  lock(F_WRLCK);
  off_t start = moves ? (fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR)) : at;
  ssize_t done = moves ? REAL(writev)(fd, parts, count) : REAL(pwritev)(fd, parts, count, at);
  int error = errno;
  ssize_t left = done;
  for (int n = 0; n < count && left > 0; n += 1) {
    size_t length = (size_t)left < parts[n].iov_len ? (size_t)left : parts[n].iov_len;
    record_write(fd, parts[n].iov_base, length, start);
    start += (off_t)length;
    left -= (ssize_t)length;
  }
  lock(F_UNLCK);
  errno = error;
  return done;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  return kind_of(fd) ? written(fd, &part, 1, 0, 1) : REAL(write)(fd, bytes, length);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  struct iovec part = {(void *)bytes, length};
  return kind_of(fd) ? written(fd, &part, 1, at, 0) : REAL(pwrite)(fd, bytes, length, at);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  return kind_of(fd) ? written(fd, parts, count, 0, 1) : REAL(writev)(fd, parts, count);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  return kind_of(fd) ? written(fd, parts, count, at, 0) : REAL(pwritev)(fd, parts, count, at);
}

static int synced(int fd, int (*sync)(int)) {
  if (!kind_of(fd)) return sync(fd);
  lock(F_WRLCK);
  int result = sync(fd);
  int error = errno;
  if (result == 0 && inside[fd] == 'd') record_path("sync-folder", paths[fd], NULL);
  if (result == 0 && inside[fd] == 'f') record_file("sync", fd, NULL, -1);
  lock(F_UNLCK);
  errno = error;
  return result;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

int ftruncate(int fd, off_t size) {
  if (!kind_of(fd)) return REAL(ftruncate)(fd, size);
  lock(F_WRLCK);
  int result = REAL(ftruncate)(fd, size);
  int error = errno;
  if (result == 0) record_file("truncate", fd, NULL, size);
  lock(F_UNLCK);
  errno = error;
  return result;
}

int posix_fallocate(int fd, off_t at, off_t length) {
  struct stat before;
  if (!kind_of(fd) || fstat(fd, &before) < 0) return REAL(posix_fallocate)(fd, at, length);
  lock(F_WRLCK);
  int result = REAL(posix_fallocate)(fd, at, length);
  if (result == 0 && at + length > before.st_size) record_file("truncate", fd, NULL, at + length);
  lock(F_UNLCK);
  return result;
}

int truncate(const char *path, off_t size) {
  char whole[PATH_MAX];
  resolve(path, whole);
  if (!is_inside(whole)) return REAL(truncate)(path, size);
  int fd = open(path, O_WRONLY);
  if (fd < 0) return -1;
  int result = ftruncate(fd, size);
  int error = errno;
  close(fd);
  errno = error;
  return result;
}

static void changed(const char *does, int result, const char *path, const char *to) {
  char whole[PATH_MAX], other[PATH_MAX];
  int error = errno;
  resolve(path, whole);
  if (to) resolve(to, other);
  if (result == 0 && is_inside(whole)) record_path(does, whole, to ? other : NULL);
  lock(F_UNLCK);
  errno = error;
}

#define CHANGE(does, call, path, to) \
  lock(F_WRLCK);                     \
  int result = call;                 \
  changed(does, result, path, to);   \
  return result;

int rename(const char *from, const char *to) { CHANGE("rename", REAL(rename)(from, to), from, to) }
int link(const char *from, const char *to) { CHANGE("link", REAL(link)(from, to), from, to) }
int mkdir(const char *path, mode_t mode) { CHANGE("mkdir", REAL(mkdir)(path, mode), path, NULL) }
int unlink(const char *path) { CHANGE("remove", REAL(unlink)(path), path, NULL) }
int rmdir(const char *path) { CHANGE("remove", REAL(rmdir)(path), path, NULL) }

/* What the C library writes by itself is recorded as a whole when the file is closed. */
FILE *fopen(const char *path, const char *mode) {
  char whole[PATH_MAX];
  struct stat before;
  resolve(path, whole);
  if (!is_inside(whole) || strpbrk(mode, "wa+") == NULL) return REAL(fopen)(path, mode);
  lock(F_WRLCK);
  int existed = stat(path, &before) == 0;
  FILE *file = REAL(fopen)(path, mode);
  int error = errno;
  if (file) note(fileno(file), whole, existed, mode[0] == 'w');
  lock(F_UNLCK);
  errno = error;
  return file;
}

int fclose(FILE *file) {
  int fd = fileno(file);
  if (kind_of(fd) != 'f') return REAL(fclose)(file);
  fflush(file);
  lock(F_WRLCK);
  int reader = REAL(open)(paths[fd], O_RDONLY | O_CLOEXEC);
  if (reader >= 0) {
    char part[65536];
    off_t at = 0;
    for (ssize_t got; (got = pread(reader, part, sizeof part, at)) > 0; at += got) record_write(fd, part, (size_t)got, at);
    REAL(close)(reader);
  }
  inside[fd] = 0;
  lock(F_UNLCK);
  return REAL(fclose)(file);
}
