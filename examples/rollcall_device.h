/*
 * A device's side of Rollcall. rollcall_report() puts a report on the disk and returns; a thread sends it until the server has it.
 *
 * Copy this file, include it in one source file, and compile with: cc -pthread agent.c -lcurl
 * docs/devices.md says what it does, src/apps/device/journal.ts has the format of the file. For Linux, BSD and macOS, with libcurl 7.66 or later.
 */
#ifndef ROLLCALL_DEVICE_H
#define ROLLCALL_DEVICE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct rollcall_options {
  const char *url, *device_id, *folder;
  size_t max_bytes;             /* of reports that may wait; 0: 8 MiB */
  const char *ca, *cert, *key;  /* files of https, or NULL */
  /* The functions may be NULL. The thread calls them. */
  struct curl_slist *(*headers)(const char *url, const char *body, struct curl_slist *headers, void *context); /* of each attempt */
  void (*rejected)(const char *report, const char *answer, void *context); /* the server will never take the report */
  void (*interrupted)(const char *reason, void *context);                  /* why reports wait, and NULL when they do no more */
  void *context;
};

struct rollcall_entry {
  struct rollcall_entry *next;
  long long seq;
  char *line, *deployment, *body; /* the last two within the line, which ends with a zero instead of a newline */
  size_t size, deployment_size;
};

struct rollcall {
  struct rollcall_options options; /* its texts must live as long as this */
  int folder, lock, file, is_renamed, count;
  _Atomic int is_stopped;
  char boot[65];
  long long seq;
  off_t size;
  size_t waiting_size;
  struct rollcall_entry *first, **end;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t thread;
  unsigned random;
  CURL *curl;
};

struct rollcall_text {
  char *bytes;
  size_t size, most;
};

enum { rollcall_largest_report = 1 << 20, rollcall_largest_answer = 8 << 20, rollcall_most_done = 64 << 10 };

static size_t rollcall_append(char *bytes, size_t size, size_t count, void *to) {
  struct rollcall_text *text = to;
  size_t more = size * count;
  char *grown = text->most && text->size + more > text->most ? NULL : realloc(text->bytes, text->size + more + 1);
  if (!grown) return 0;
  memcpy(grown + text->size, bytes, more);
  text->bytes = grown;
  text->size += more;
  grown[text->size] = 0;
  return more;
}

static int rollcall_add(struct rollcall_text *text, const char *more) {
  return rollcall_append((char *)more, 1, strlen(more), text) == strlen(more);
}

/* An ID within a path, or within JSON. */
static int rollcall_add_id(struct rollcall_text *text, const char *id, int is_path) {
  char part[8];
  int is_added = rollcall_add(text, "");
  for (; *id; id++) {
    unsigned char c = *id;
    int is_plain = is_path ? isalnum(c) || strchr("-_.~", c) : c >= ' ' && c != '"' && c != '\\';
    snprintf(part, sizeof part, is_plain ? "%c" : is_path ? "%%%02X" : "\\u%04x", c);
    is_added = is_added && rollcall_add(text, part);
  }
  return is_added;
}

static uint32_t rollcall_checksum(const char *bytes, size_t size) {
  uint32_t crc = 0xffffffff;
  while (size--) {
    crc ^= (unsigned char)*bytes++;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

static int rollcall_write_at(int file, const char *bytes, size_t size, off_t at) {
  while (size > 0) {
    ssize_t written = pwrite(file, bytes, size, at);
    if (written < 0 && errno != EINTR) return -1;
    if (written < 0) continue;
    bytes += written, size -= written, at += written;
  }
  return 0;
}

/* So that the names of the files are on the disk. */
static int rollcall_sync_folders(struct rollcall *r) {
  int parent = openat(r->folder, "..", O_RDONLY);
  int failed = parent < 0 || fsync(r->folder) || fsync(parent);
  if (parent >= 0) close(parent);
  return failed ? -1 : 0;
}

static int rollcall_write(struct rollcall *r, const char *bytes, size_t size, int is_durable) {
  int failed = rollcall_write_at(r->file, bytes, size, r->size);
  if (!failed && is_durable) failed = fsync(r->file) || (r->is_renamed && rollcall_sync_folders(r));
  if (failed) {
    int reason = errno;
    (void)!ftruncate(r->file, r->size);
    return errno = reason, -1;
  }
  if (is_durable) r->is_renamed = 0;
  r->size += size;
  return 0;
}

/* The line that says what is done. */
static size_t rollcall_mark(struct rollcall *r, char *line, size_t size, long long seq) {
  char rest[96];
  int length = snprintf(rest, sizeof rest, "%lld %s", seq, r->boot);
  return snprintf(line, size, "%08x %s\n", (unsigned)rollcall_checksum(rest, length), rest);
}

/* In another file. Two are kept: the newer one, and the one before. */
static int rollcall_put_aside(struct rollcall *r, const char *body, const char *reason) {
  struct rollcall_text text = {0};
  int is_made = rollcall_add(&text, body) && rollcall_add(&text, "\t") && rollcall_add(&text, reason) && rollcall_add(&text, "\n");
  for (char *c = text.bytes; is_made && c[1]; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  int file = is_made ? openat(r->folder, "rejected", O_RDWR | O_CREAT, 0600) : -1;
  off_t end = file < 0 ? 0 : lseek(file, 0, SEEK_END);
  int failed = file < 0 || rollcall_write_at(file, text.bytes, text.size, end) || fsync(file);
  if (!failed && end + text.size > r->options.max_bytes / 2) failed = renameat(r->folder, "rejected", r->folder, "rejected.1");
  free(text.bytes);
  if (file >= 0) close(file);
  return failed ? -1 : 0;
}

/* Takes the line. */
static int rollcall_enqueue(struct rollcall *r, char *line, size_t size) {
  struct rollcall_entry *entry = calloc(1, sizeof *entry);
  if (!entry) return -1;
  entry->seq = strtoll(line + 9, &entry->deployment, 10);
  entry->deployment++;
  entry->body = strchr(entry->deployment, ' ') + 1;
  entry->deployment_size = entry->body - 1 - entry->deployment;
  entry->line = line;
  entry->size = size;
  *r->end = entry;
  r->end = &entry->next;
  r->waiting_size += size;
  r->count++;
  return 0;
}

static void rollcall_dequeue(struct rollcall *r) {
  struct rollcall_entry *entry = r->first;
  r->first = entry->next;
  if (!r->first) r->end = &r->first;
  r->waiting_size -= entry->size;
  r->count--;
  free(entry->line);
  free(entry);
}

static int rollcall_write_anew(struct rollcall *r, const char *mark, size_t mark_size) {
  int file = openat(r->folder, "journal.new", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return -1;
  off_t size = mark_size;
  int failed = rollcall_write_at(file, mark, mark_size, 0);
  for (struct rollcall_entry *entry = r->first; entry && !failed; entry = entry->next) {
    entry->line[entry->size - 1] = '\n';
    failed = rollcall_write_at(file, entry->line, entry->size, size);
    entry->line[entry->size - 1] = 0;
    size += entry->size;
  }
  if (failed || fsync(file) || renameat(r->folder, "journal.new", r->folder, "journal")) return close(file), -1;
  close(r->file);
  r->file = file;
  r->size = size;
  r->is_renamed = 1;
  return 0;
}

/* The first ones are done. It may fail: then they are sent once more after a restart, which changes nothing. */
static void rollcall_done(struct rollcall *r, int count) {
  char mark[128];
  pthread_mutex_lock(&r->mutex);
  long long seq = 0;
  for (int n = 0; n < count; n++) seq = r->first->seq, rollcall_dequeue(r);
  if (count > 0) {
    size_t size = rollcall_mark(r, mark, sizeof mark, seq);
    size_t most = r->waiting_size > rollcall_most_done ? r->waiting_size : rollcall_most_done;
    if (!rollcall_write(r, mark, size, 0) && r->size - r->waiting_size > most) rollcall_write_anew(r, mark, size);
  }
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

static int rollcall_read(struct rollcall *r) {
  struct stat found;
  char *content = NULL, mark[128];
  if (fstat(r->file, &found) || !(content = malloc(found.st_size + 1))) return -1;
  for (off_t at = 0, part; at < found.st_size; at += part)
    if ((part = pread(r->file, content + at, found.st_size - at, at)) <= 0) return free(content), -1;
  char *line = content, *newline;
  for (; (newline = memchr(line, '\n', content + found.st_size - line)); line = newline + 1) {
    size_t size = newline + 1 - line;
    char *rest = line + 9, *name = NULL, *body = NULL;
    *newline = 0;
    int is_whole = strlen(line) == size - 1 && size > 10 && line[8] == ' ' &&
                   strtoul(line, NULL, 16) == rollcall_checksum(rest, size - 10);
    long long seq = is_whole ? strtoll(rest, &name, 10) : 0;
    if (!is_whole || *name != ' ') {
      if (rollcall_put_aside(r, line, "damaged on the disk")) return free(content), -1;
      continue;
    }
    if (seq > r->seq) r->seq = seq;
    if ((body = strchr(++name, ' '))) {
      char *own = malloc(size);
      if (!own || (memcpy(own, line, size), rollcall_enqueue(r, own, size))) return free(own), free(content), -1;
    } else {
      snprintf(r->boot, sizeof r->boot, "%s", name);
      while (r->first && r->first->seq <= seq) rollcall_dequeue(r);
    }
  }
  r->size = line - content;
  free(content);
  if (ftruncate(r->file, r->size)) return -1;
  if (r->boot[0]) return 0;
  uint64_t random = 0;
  int source = open("/dev/urandom", O_RDONLY);
  if (source < 0 || read(source, &random, sizeof random) != sizeof random) return -1;
  close(source);
  snprintf(r->boot, sizeof r->boot, "%016llx", (unsigned long long)random);
  return rollcall_write(r, mark, rollcall_mark(r, mark, sizeof mark, 0), 0);
}

/* What the server says of the next report of a backlog, which ends with a zero. NULL: nothing. */
static char *rollcall_next_result(char **at) {
  char *start = *at ? strchr(*at, '{') : NULL, *c = start;
  int depth = 0, is_text = 0;
  for (; c && *c; c++) {
    if (is_text && *c == '\\' && c[1]) c++;
    else if (*c == '"') is_text = !is_text;
    else if (!is_text && (*c == '{' || *c == '[')) depth++;
    else if (!is_text && (*c == '}' || *c == ']') && --depth == 0) break;
  }
  if (!c || !*c) return NULL;
  *at = c[1] ? c + 2 : c + 1; /* after the comma */
  c[1] = 0;
  return start;
}

static int rollcall_is_over(void *r, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  (void)a, (void)b, (void)c, (void)d;
  return ((struct rollcall *)r)->is_stopped;
}

/* Returns how many reports of the batch are done. If not all, there is a reason, and seconds to wait at least. */
static int rollcall_send(struct rollcall *r, int count, struct rollcall_text *url, struct rollcall_text *body, char *reason, size_t size, long *wait) {
  struct rollcall_text answer = {.most = rollcall_largest_answer};
  curl_off_t asked = 0;
  long status = 0;
  const struct rollcall_options *o = &r->options;
  struct curl_slist *headers = curl_slist_append(NULL, count == 1 ? "Content-Type: application/json" : "Content-Type: application/x-ndjson");
  headers = curl_slist_append(headers, "Expect:");
  if (o->headers) headers = o->headers(url->bytes, body->bytes, headers, o->context);
  curl_easy_reset(r->curl);
  curl_easy_setopt(r->curl, CURLOPT_URL, url->bytes);
  curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(r->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
  curl_easy_setopt(r->curl, CURLOPT_POSTFIELDS, body->bytes);
  curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, rollcall_append);
  curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(r->curl, CURLOPT_TIMEOUT, 60L);
  curl_easy_setopt(r->curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(r->curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(r->curl, CURLOPT_XFERINFOFUNCTION, rollcall_is_over);
  curl_easy_setopt(r->curl, CURLOPT_XFERINFODATA, r);
  if (o->ca) curl_easy_setopt(r->curl, CURLOPT_CAINFO, o->ca);
  curl_easy_setopt(r->curl, CURLOPT_SSLCERT, o->cert);
  curl_easy_setopt(r->curl, CURLOPT_SSLKEY, o->key);
  CURLcode code = curl_easy_perform(r->curl);
  curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(r->curl, CURLINFO_RETRY_AFTER, &asked);
  curl_slist_free_all(headers);
  *wait = asked < 0 ? 0 : asked > 3600 ? 3600 : (long)asked;
  if (code) snprintf(reason, size, "%s", curl_easy_strerror(code));
  else snprintf(reason, size, "%ld: %.500s", status, answer.bytes ? answer.bytes : "");

  int done = 0;
  char *list = !code && answer.bytes ? strstr(answer.bytes, "\"results\":[") : NULL, *at = list ? list + 11 : NULL;
  struct rollcall_entry *entry = r->first; /* Only this thread takes entries away. */
  for (; !code && answer.bytes && done < count; done++) {
    if (done > 0) entry = entry->next;
    char *result = count == 1 ? answer.bytes : status == 200 ? rollcall_next_result(&at) : NULL, *own = result ? strstr(result, "\"status\":") : NULL;
    if (!result) break;
    if (status < 300 && strstr(result, "\"verdict\":\"") && !strstr(result, "\"verdict\":\"REFUSED\"")) continue;
    long why = count == 1 ? status : own ? atol(own + 9) : 0;
    /* A refusal that names what is wrong with the report. A proxy, a wrong URL or a credential has no such list. */
    if ((why != 400 && why != 413 && why != 422) || !strstr(result, "\"errors\":[")) {
      if (count > 1) snprintf(reason, size, "%.500s", result);
      break;
    }
    if (rollcall_put_aside(r, entry->body, result)) {
      snprintf(reason, size, "a refused report cannot be put aside: %s", strerror(errno));
      break;
    }
    if (o->rejected) o->rejected(entry->body, result, o->context);
  }
  free(answer.bytes);
  return done;
}

static void *rollcall_work(void *argument) {
  struct rollcall *r = argument;
  r->random = rollcall_checksum(r->boot, strlen(r->boot)) ^ (unsigned)time(NULL);
  const struct rollcall_options *o = &r->options;
  int most = 1, bound = 1, is_interrupted = 0;
  pthread_mutex_lock(&r->mutex);
  while (!r->is_stopped) {
    if (!r->first) {
      pthread_cond_wait(&r->changed, &r->mutex);
      continue;
    }
    struct rollcall_text url = {0}, body = {0};
    int count = 0, is_made = 1;
    for (struct rollcall_entry *entry = r->first; entry && count < most; entry = entry->next, count++) {
      if (count > 0 && body.size + entry->size > rollcall_largest_report) break;
      if (count > 0) is_made = is_made && rollcall_add(&body, "\n");
      is_made = is_made && rollcall_add(&body, entry->body);
    }
    is_made = is_made && rollcall_add(&url, o->url);
    while (url.size > 0 && url.bytes[url.size - 1] == '/') url.bytes[--url.size] = 0;
    if (count == 1) {
      is_made = is_made && rollcall_add(&url, "/device/") && rollcall_add_id(&url, o->device_id, 1) && rollcall_add(&url, "/deployment/");
      is_made = is_made && rollcall_append(r->first->deployment, 1, r->first->deployment_size, &url) && rollcall_add(&url, "/status");
    } else is_made = is_made && rollcall_add(&url, "/reports");
    pthread_mutex_unlock(&r->mutex);

    char reason[640] = "there is no memory";
    long wait = 0;
    int done = is_made ? rollcall_send(r, count, &url, &body, reason, sizeof reason, &wait) : 0;
    free(url.bytes), free(body.bytes);
    if (!r->is_stopped && o->interrupted && (done < count || is_interrupted)) o->interrupted(done < count ? reason : NULL, o->context);
    is_interrupted = done < count;
    rollcall_done(r, done);

    pthread_mutex_lock(&r->mutex);
    if (done == count) {
      most = most * 2 > 500 ? 500 : most * 2;
      bound = 1;
      continue;
    }
    /* Fewer pass a slow line, or the limit of a proxy. */
    most = (count + 1) / 2;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    long long nanoseconds = until.tv_nsec + (long long)((double)rand_r(&r->random) / RAND_MAX * bound * 1e9);
    until.tv_sec += wait + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    bound = bound * 2 > 60 ? 60 : bound * 2;
    while (!r->is_stopped && pthread_cond_timedwait(&r->changed, &r->mutex, &until) != ETIMEDOUT);
  }
  pthread_mutex_unlock(&r->mutex);
  return NULL;
}

/* NULL: errno is EBUSY if another process uses the folder. Call curl_global_init before, if the program has threads. */
static inline struct rollcall *rollcall_open(const struct rollcall_options *options) {
  struct rollcall *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  r->options = *options;
  if (!r->options.max_bytes) r->options.max_bytes = 8 << 20;
  r->end = &r->first;
  r->is_renamed = 1;
  r->lock = r->file = -1;
  mkdir(options->folder, 0700);
  r->folder = open(options->folder, O_RDONLY | O_DIRECTORY);
  if (r->folder >= 0) r->lock = openat(r->folder, "lock", O_RDWR | O_CREAT, 0600);
#ifdef F_OFD_SETLK
  const int command = F_OFD_SETLK;
#else
  const int command = F_SETLK;
#endif
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (r->lock >= 0 && fcntl(r->lock, command, &whole)) errno = EBUSY;
  else if (r->lock >= 0) r->file = openat(r->folder, "journal", O_RDWR | O_CREAT, 0600);
  pthread_mutex_init(&r->mutex, NULL);
  pthread_cond_init(&r->changed, NULL);
  if (r->file >= 0 && !rollcall_read(r) && (r->curl = curl_easy_init()) && !pthread_create(&r->thread, NULL, rollcall_work, r)) return r;
  int reason = errno;
  while (r->first) rollcall_dequeue(r);
  if (r->curl) curl_easy_cleanup(r->curl);
  for (int n = 0; n < 3; n++)
    if ((int[]){r->file, r->lock, r->folder}[n] >= 0) close((int[]){r->file, r->lock, r->folder}[n]);
  free(r);
  errno = reason;
  return NULL;
}

/*
 * `body`: an object of JSON with `status` and `components`. Returns the number of the report when it is on the disk, or -1: errno is ENOBUFS if the
 * queue is full, EMSGSIZE if the report is too large, EINVAL if an argument is wrong, or what the disk says. Then the report is not queued.
 */
static inline long long rollcall_report(struct rollcall *r, const char *deployment_id, const char *body) {
  while (isspace((unsigned char)*body)) body++;
  size_t length = strlen(body);
  while (length > 0 && isspace((unsigned char)body[length - 1])) length--;
  if (length < 5 || body[0] != '{' || body[length - 1] != '}') return errno = EINVAL, -1;
  if (!*deployment_id || !strcmp(deployment_id, ".") || !strcmp(deployment_id, "..")) return errno = EINVAL, -1;
  struct rollcall_text text = {0};
  char head[48], tail[256], clock[40] = "";
  struct timespec now;
  struct tm parts;
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &parts);
  /* The clock of a device says 1970 until it is set. */
  if (parts.tm_year > 124) strftime(clock, sizeof clock, ",\"observedAt\":\"%Y-%m-%dT%H:%M:%SZ\"", &parts);

  pthread_mutex_lock(&r->mutex);
  long long seq = r->seq + 1;
  snprintf(head, sizeof head, "%08x %lld ", 0, seq);
  snprintf(tail, sizeof tail, "\",\"rollcall\":{\"seq\":%lld,\"boot\":\"%s\"%s}}", seq, r->boot, clock);
  int is_made = rollcall_add(&text, head) && rollcall_add_id(&text, deployment_id, 1) && rollcall_add(&text, " ");
  size_t start = text.size;
  is_made = is_made && rollcall_append((char *)body, 1, length - 1, &text);
  is_made = is_made && rollcall_add(&text, ",\"deploymentId\":\"") && rollcall_add_id(&text, deployment_id, 0);
  is_made = is_made && rollcall_add(&text, "\",\"reporter\":\"") && rollcall_add_id(&text, r->options.device_id, 0) && rollcall_add(&text, tail);
  errno = !is_made ? ENOMEM : text.size - start > rollcall_largest_report ? EMSGSIZE : r->waiting_size + text.size + 1 > r->options.max_bytes ? ENOBUFS : 0;
  if (!errno) {
    for (char *c = text.bytes; *c; c++)
      if (*c == '\n' || *c == '\r') *c = ' ';
    snprintf(head, sizeof head, "%08x", (unsigned)rollcall_checksum(text.bytes + 9, text.size - 9));
    memcpy(text.bytes, head, 8);
    r->seq = seq;
    text.bytes[text.size] = '\n';
    int failed = rollcall_write(r, text.bytes, text.size + 1, 1);
    text.bytes[text.size] = 0;
    if (!failed && !rollcall_enqueue(r, text.bytes, text.size + 1)) text.bytes = NULL;
    else if (!errno) errno = ENOMEM;
  }
  int reason = text.bytes ? errno : 0;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
  free(text.bytes);
  errno = reason;
  return reason ? -1 : seq;
}

static inline int rollcall_pending(struct rollcall *r) {
  pthread_mutex_lock(&r->mutex);
  int count = r->count;
  pthread_mutex_unlock(&r->mutex);
  return count;
}

/* Waits until no report waits. */
static inline void rollcall_idle(struct rollcall *r) {
  pthread_mutex_lock(&r->mutex);
  while (r->first) pthread_cond_wait(&r->changed, &r->mutex);
  pthread_mutex_unlock(&r->mutex);
}

/* Ends sending. What waits is sent after the next start. */
static inline void rollcall_close(struct rollcall *r) {
  pthread_mutex_lock(&r->mutex);
  r->is_stopped = 1;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
  pthread_join(r->thread, NULL);
  while (r->first) rollcall_dequeue(r);
  curl_easy_cleanup(r->curl);
  close(r->file), close(r->lock), close(r->folder);
  free(r);
}
#endif
