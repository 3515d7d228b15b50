"""A bucket that speaks as much of S3's protocol as maps need: a real server, which keeps objects in memory."""

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

BUCKET = "maps"
_LISTING = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<Name>maps</Name><IsTruncated>false</IsTruncated>{}</ListBucketResult>"
)
_ENTRY = (
    "<Contents><Key>{}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;0&quot;</ETag><Size>{}</Size></Contents>"
)


class _Answer(BaseHTTPRequestHandler):
    """A connection is one request: where a server has stopped, nobody is answered any more."""

    def do_PUT(self):
        self.server.objects[self._key] = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(("PUT", self._key))
        self._say(200, b"")

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        asked = parse_qs(urlsplit(self.path).query)
        if "list-type" in asked:
            some = sorted(key for key in self.server.objects if key.startswith(asked.get("prefix", [""])[0]))
            entries = "".join(_ENTRY.format(key, len(self.server.objects[key])) for key in some)
            self._say(200, _LISTING.format(entries).encode())
        elif self._key not in self.server.objects:
            self._say(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self.server.asked.append((self.command, self._key))
            self._send(self.server.objects[self._key])

    def _send(self, content):
        wanted = self.headers.get("Range")
        if wanted is None:
            self._say(200, content)
            return
        begin, end = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
        part = content[begin : end + 1]
        self._say(206, part, f"bytes {begin}-{begin + len(part) - 1}/{len(content)}")

    @property
    def _key(self):
        return urlsplit(self.path).path.removeprefix(f"/{BUCKET}/")

    def _say(self, code, body, extent=None):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if extent:
            self.send_header("Content-Range", extent)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def serving():
    """The server, with `objects` by name and what was `asked` for; it stops at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.objects, server.asked = {}, []
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment_of(server):
    """What tells obstore where the bucket is, and who asks."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "robot",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
