/* As agent.mjs, in C. */
#include "rollcall_device.h"

static void rejected(const char *report, const char *answer, void *context) {
  printf("rejected %s %s\n", report, answer);
}

static void interrupted(const char *reason, void *context) {
  printf("interrupted %.200s\n", reason ? reason : "null");
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  const struct rollcall_options options = {
      .url = argv[1], .device_id = "press 7", .folder = argv[2], .max_bytes = atol(argv[3]), .rejected = rejected, .interrupted = interrupted};
  struct rollcall *r = rollcall_open(&options);
  if (!r) return printf("%s\n", errno == EBUSY ? "the folder is in use" : strerror(errno)), argc;
  puts("open");
  char *line = NULL;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, stdin)) > 0;) {
    line[length - 1] = 0;
    if (!strcmp(line, "idle")) rollcall_idle(r), puts("idle");
    else if (!strcmp(line, "pending")) printf("pending %d\n", rollcall_pending(r));
    else {
      char *body = strchr(line, ' ');
      *body++ = 0;
      int decoded = 0;
      char *deployment = curl_easy_unescape(NULL, line, 0, &decoded);
      long long seq = rollcall_report(r, deployment, body);
      if (seq > 0) printf("queued %lld\n", seq);
      else printf("refused %s\n", errno == ENOBUFS ? "the queue is full" : errno == EMSGSIZE ? "the report is larger than 1048576 bytes" : errno == EINVAL ? "deploymentId cannot be" : strerror(errno));
      curl_free(deployment);
    }
  }
  free(line);
  rollcall_close(r);
  puts("closed");
}
