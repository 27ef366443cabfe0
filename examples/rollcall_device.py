"""A device's side of Rollcall. report() puts a report on the disk and returns; a thread sends it until the server has it.

Copy this file: it needs Python 3.8 and nothing else. docs/devices.md says what it does, src/apps/device/journal.ts has the format of the file.
"""
import json, os, random, re, secrets, sqlite3, threading, time, traceback, urllib.error, urllib.parse, urllib.request, zlib

LARGEST_REPORT = 1 << 20
LARGEST_ANSWER = 8 << 20
MOST_REPORTS, MOST_BYTES = 500, 1 << 20
# Seconds.
SHORTEST, LONGEST, LONGEST_ASKED, PATIENCE = 1, 60, 3600, 60
# Bytes of what is done, in a file in which less waits.
MOST_DONE = 64 << 10


class QueueFull(Exception):
    pass


class Device:
    """headers(url, body): of each attempt, a dict. tls: an ssl.SSLContext. Called by the thread: rejected(report, answer) for a report that the
    server will never take; interrupted(reason) when reports wait, and interrupted(None) when they do no more."""

    def __init__(self, url, device_id, folder, max_bytes=8 << 20, headers=None, tls=None, rejected=None, interrupted=None):
        self._url, self._id, self._folder, self._max_bytes = url.rstrip("/"), device_id, folder, max_bytes
        self._headers, self._rejected, self._interrupted = headers, rejected, interrupted
        handlers = [_NoRedirect] + ([urllib.request.HTTPSHandler(context=tls)] if tls else [])
        self._opener = urllib.request.build_opener(*handlers)
        self._changed = threading.Condition()
        self._stopped = False
        os.makedirs(folder, 0o700, exist_ok=True)
        # A lock of the kernel: it ends with its process.
        self._lock = sqlite3.connect(self._path("lock"), 0, isolation_level=None, check_same_thread=False)
        try:
            self._lock.execute("pragma journal_mode = memory")
            self._lock.execute("begin exclusive")
        except sqlite3.OperationalError as error:
            self._lock.close()
            raise RuntimeError(f"{folder} is in use: each process needs a folder of its own") from error
        self._read()
        threading.Thread(target=self._work, daemon=True).start()

    def report(self, report):
        """Returns the number of the report when it is on the disk. Raises if it is too large, or the queue or the disk is full."""
        deployment = report.get("deploymentId")
        if deployment in (None, "", ".", ".."):
            raise ValueError(f'deploymentId cannot be "{deployment}"')
        now = time.time()
        own = dict(report.get("rollcall") or {})
        # The clock of a device says 1970 until it is set.
        if now > 1735689600 and "observedAt" not in own:
            own["observedAt"] = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + ".%03dZ" % (now % 1 * 1000)
        with self._changed:
            seq = self._seq + 1
            body = {**report, "reporter": self._id, "rollcall": {**own, "boot": self._boot, "seq": seq}}
            body = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
            if len(body) > LARGEST_REPORT:
                raise ValueError(f"the report is larger than {LARGEST_REPORT} bytes")
            line = _line(b"%d %s %s" % (seq, _quoted(deployment).encode(), body))
            if self._waiting_size + len(line) > self._max_bytes:
                waiting = f"{self._waiting_size} bytes of reports wait, and {self._max_bytes} may"
                raise QueueFull(f"the queue is full: {waiting}")
            self._seq = seq
            self._write(line, True)
            self._waiting.append((seq, line))
            self._waiting_size += len(line)
            self._changed.notify_all()
        return seq

    def pending(self):
        with self._changed:
            return len(self._waiting)

    def idle(self, timeout=None):
        """Waits until no report waits. False: the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: self._stopped or not self._waiting, timeout)

    def close(self):
        """Ends sending. What waits is sent after the next start."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            os.close(self._file)
            self._lock.close()

    def _work(self):
        most, bound, is_interrupted = 1, SHORTEST, False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._waiting)
                if self._stopped:
                    return
                batch = self._next_batch(most)
            try:
                reason, retry_after = self._send(batch)
            except Exception as error:
                reason, retry_after = repr(error), 0
            if reason or is_interrupted:
                _call(self._interrupted, reason)
            is_interrupted = reason is not None
            with self._changed:
                self._changed.notify_all()
                if reason:
                    # Fewer pass a slow line, or the limit of a proxy.
                    most = (len(batch) + 1) // 2
                    self._changed.wait_for(lambda: self._stopped, retry_after + random.random() * bound)
                    bound = min(bound * 2, LONGEST)
                else:
                    most, bound = min(most * 2, MOST_REPORTS), SHORTEST

    def _next_batch(self, most):
        batch, size = [], 0
        for _, line in self._waiting[:most]:
            size += len(line)
            if batch and size > MOST_BYTES:
                break
            batch.append(line.rstrip(b"\n").split(b" ", 3)[2:])
        return batch

    def _send(self, batch):
        """(None, 0): the server has all of them. Otherwise the reason, and how long to wait at least."""
        alone = len(batch) == 1
        path = f"/device/{_quoted(self._id)}/deployment/{batch[0][0].decode()}/status" if alone else "/reports"
        status, retry_after, text = self._post(
            self._url + path, b"\n".join(body for _, body in batch), "application/json" if alone else "application/x-ndjson"
        )
        results = [(status, text)]
        if not alone:
            items = json.loads(text).get("results", []) if status == 200 else []
            results = [(item.get("status", 0), json.dumps(item, separators=(",", ":"))) for item in items]
        for index, (_, body) in enumerate(batch):
            own, answer = results[index] if len(results) == len(batch) else (0, "")
            if status < 300 and re.search('"verdict":"(?!REFUSED)', answer):
                continue
            # A refusal that names what is wrong with the report. A proxy, a wrong URL or a credential has no such list.
            if own not in (400, 413, 422) or '"errors":[' not in answer:
                self._done(index)
                return f"{status}: {(answer or text)[:500]}", retry_after
            self._put_aside(body, answer)
            _call(self._rejected, json.loads(body), answer)
        self._done(len(batch))
        return None, 0

    def _post(self, url, body, kind):
        headers = {"Content-Type": kind, **(self._headers(url, body) if self._headers else {})}
        try:
            response = self._opener.open(urllib.request.Request(url, body, headers), timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            text = response.read(LARGEST_ANSWER + 1)
            if len(text) > LARGEST_ANSWER:
                raise ValueError("the answer is too large")
            # Before Python 3.12, a connection that is lost looks like the end of the answer.
            if len(text) < int(response.headers.get("Content-Length") or 0):
                raise ValueError("the answer ended early")
            asked = response.headers.get("Retry-After", "")
            return response.code, min(int(asked), LONGEST_ASKED) if asked.isdecimal() else 0, text.decode(errors="replace")

    def _path(self, name):
        return os.path.join(self._folder, name)

    def _read(self):
        self._file = os.open(self._path("journal"), os.O_RDWR | os.O_CREAT, 0o600)
        self._boot, self._seq, self._waiting, self._is_renamed = "", 0, [], True
        with open(self._path("journal"), "rb") as file:
            content = file.read()
        self._size = content.rfind(b"\n") + 1
        os.ftruncate(self._file, self._size)
        for line in content[: self._size].split(b"\n")[:-1]:
            found = re.fullmatch(rb"\w{8} ((\d+) (\S+)( .*)?)", line)
            if not found or _line(found[1]) != line + b"\n":
                self._put_aside(line, "damaged on the disk")
                continue
            seq = int(found[2])
            self._seq = max(self._seq, seq)
            if found[4]:
                self._waiting.append((seq, line + b"\n"))
            else:
                self._boot = found[3].decode()
                self._waiting = [entry for entry in self._waiting if entry[0] > seq]
        self._waiting_size = sum(len(line) for _, line in self._waiting)
        if not self._boot:
            self._boot = secrets.token_hex(8)
            self._write(_line(b"0 %s" % self._boot.encode()))

    def _write(self, line, is_durable=False):
        try:
            _write_at(self._file, line, self._size)
            if is_durable:
                os.fsync(self._file)
                if self._is_renamed:
                    _sync_folder(self._folder)
                    _sync_folder(os.path.dirname(os.path.abspath(self._folder)))
                self._is_renamed = False
            self._size += len(line)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise

    def _done(self, count):
        """The first ones are done. It may fail: then they are sent once more after a restart, which changes nothing."""
        with self._changed:
            if count == 0 or self._stopped:
                return
            done = self._waiting[:count]
            del self._waiting[:count]
            self._waiting_size -= sum(len(line) for _, line in done)
            mark = _line(b"%d %s" % (done[-1][0], self._boot.encode()))
            try:
                self._write(mark)
                if self._size - self._waiting_size > max(MOST_DONE, self._waiting_size):
                    self._write_anew(mark + b"".join(line for _, line in self._waiting))
            except OSError:
                pass

    def _write_anew(self, content):
        anew = self._path("journal.new")
        file = os.open(anew, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write_at(file, content, 0)
            os.fsync(file)
            os.rename(anew, self._path("journal"))
        except OSError:
            os.close(file)
            raise
        os.close(self._file)
        self._file, self._size, self._is_renamed = file, len(content), True

    def _put_aside(self, body, reason):
        """In another file. Two are kept: the newer one, and the one before."""
        aside = self._path("rejected")
        with open(os.open(aside, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            file.write(body + b"\t" + re.sub(r"\s+", " ", reason).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if os.path.getsize(aside) > self._max_bytes / 2:
            os.replace(aside, aside + ".1")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def _call(function, *arguments):
    try:
        if function:
            function(*arguments)
    except Exception:
        traceback.print_exc()


def _line(rest):
    return b"%08x %s\n" % (zlib.crc32(rest), rest)


def _quoted(name):
    return urllib.parse.quote(name, safe="")


def _write_at(file, content, position):
    while content:
        written = os.pwrite(file, content, position)
        content, position = content[written:], position + written


def _sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
