"""An origin that answers as each request asks in its query, and keeps what it was sent."""

import http.server
import threading
import time
import urllib.parse


class ScriptedOrigin:
    """Query fields of a request: `bytes`, the size of the body; `cost`, its X-Weir-Cost. Without
    `bytes` the sizes follow `sizes` in turn."""

    def __init__(self, sizes=(2,)):
        self.sizes = sizes
        self.lock = threading.Lock()
        self.seen = []  # (CLOCK_MONOTONIC, path, fields, body bytes)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def _handler(self):
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 128 * 1024  # head and body together

            def do_GET(self):
                parts = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(parts.query))
                size = origin.note(parts.path, self.headers, query.get("bytes"))
                self.send_response(200)
                self.send_header("Content-Length", str(size))
                if "cost" in query:
                    self.send_header("X-Weir-Cost", query["cost"])
                self.end_headers()
                self.wfile.write(b"x" * size)

            do_OPTIONS = do_GET

            def log_message(self, *_):
                pass

        return Handler

    def note(self, path, fields, size):
        with self.lock:
            size = int(size) if size else self.sizes[len(self.seen) % len(self.sizes)]
            fields = {name.lower(): value for name, value in fields.items()}
            self.seen.append((time.monotonic_ns(), path, fields, size))
            return size

    def bytes_between(self, start_ns, end_ns):
        with self.lock:
            return sum(size for at, _, _, size in self.seen if start_ns <= at < end_ns)

    def bytes_sent(self):
        return self.bytes_between(0, 2**63)

    def last_fields(self):
        with self.lock:
            return self.seen[-1][2]

    def count(self):
        with self.lock:
            return len(self.seen)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
