"""Downloads from a real server that can break off, change its mind and lie; a half file never gets the final name."""

import hashlib
import resource
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tmapr.artifacts.download import UnreachableError, fetch
from tmapr.exceptions import InputError

OLD = bytes(range(256)) * 2000
NEW = OLD[::-1]
HALF = len(OLD) // 2


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        site, start = self.server, 0
        if self.path in site.elsewhere:
            return self.reply(*site.elsewhere[self.path])
        asked = site.ranges and "Range" in self.headers
        if asked and (not site.checks_version or self.headers["If-Range"] == site.etag):
            start = int(self.headers["Range"][len("bytes=") : -1])
        whole = len(site.content)
        if start >= whole:
            return self.reply(416, {})
        headers = {"ETag": site.etag, "Content-Range": f"bytes {start}-{whole - 1}/{whole}"}
        headers |= {"Content-Length": whole - start} if site.tells_length else {}
        return self.reply(206 if start else 200, headers, site.content[start:][: site.cut])

    def reply(self, status, headers, body=b""):
        # Counted before a byte is sent: the client may have its next request answered before this thread runs on.
        self.server.sent.append((status, len(body)))
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_): ...


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        site.content, site.etag, site.cut, site.sent = OLD, '"old"', None, []
        site.ranges = site.checks_version = site.tells_length = True
        site.elsewhere = {"/missing": (404, {}), "/moved": (302, {"Location": "ftp://127.0.0.1/file"})}
        Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield site
        site.shutdown()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pth"


def sha(content):
    return hashlib.sha256(content).hexdigest()


def get(site, path, *, sha256=None, name="file", watch=lambda done, size: None):
    return fetch(f"http://127.0.0.1:{site.server_port}/{name}", path, sha256=sha256, watch=watch)


def break_off(site, path, name="file"):
    site.cut = HALF
    with pytest.raises(InputError, match=f"broke off, {HALF} of {len(OLD)} bytes are there; run the command again"):
        get(site, path, name=name)
    site.cut = None


def test_a_file_replaces_the_old_one_in_one_piece_and_leaves_nothing_else(site, path):
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        assert get(site, path, sha256=sha(OLD)) == sha(OLD)
        assert (reader.read(), path.read_bytes()) == (b"old", OLD)
    assert list(path.parent.iterdir()) == [path]


def test_a_cut_leaves_the_part_and_only_the_rest_is_sent_again(site, path):
    seen = []
    break_off(site, path)
    assert sorted(file.suffix for file in path.parent.iterdir()) == [".json", ".part"]
    assert get(site, path, watch=lambda *progress: seen.append(progress)) == sha(OLD)
    assert seen == sorted({(HALF, len(OLD)), *seen, (len(OLD), len(OLD))})
    assert site.sent == [(200, HALF), (206, len(OLD) - HALF)]


STARTS_AFRESH = {
    "the server ignores ranges": ({}, {"ranges": False}),
    "another version": ({}, {"content": NEW, "etag": '"new"'}),
    "another version and the server does not check": ({}, {"content": NEW, "etag": '"new"', "checks_version": False}),
    "a version shorter than the part": ({}, {"content": NEW[:9], "etag": '"new"', "checks_version": False}),
    "the server adds to a version": ({}, {"content": OLD + NEW}),
    "a weak version": ({"etag": 'W/"weak"'}, {}),
    "no version": ({"etag": ""}, {}),
}


@pytest.mark.parametrize(("before", "after"), STARTS_AFRESH.values(), ids=STARTS_AFRESH)
def test_what_does_not_continue_the_part_is_fetched_from_the_start(before, after, site, path):
    vars(site).update(before)
    break_off(site, path)
    vars(site).update(after)
    get(site, path)
    assert path.read_bytes() == site.content
    assert site.sent[-1] == (200, len(site.content))


@pytest.mark.parametrize("note", ["", "[]", '{"url": 1}', None])
def test_bytes_of_unknown_origin_are_not_continued(note, site, path):
    break_off(site, path, name="mirror")
    if note is not None:
        path.with_name("model.pth.part.json").write_text(note)
    get(site, path)
    assert site.sent[-1] == (200, len(OLD))


def test_wrong_content_is_removed_and_both_digests_are_named(site, path):
    with pytest.raises(InputError, match=f"{sha(OLD)} came, not {sha(NEW)}"):
        get(site, path, sha256=sha(NEW))
    assert list(path.parent.iterdir()) == []


def test_a_redirecting_hub_vouches_for_the_content_unless_the_caller_does(site, path):
    site.elsewhere["/moved"] = 302, {"Location": "/file", "X-Linked-ETag": f'"{sha(NEW)}"'}
    break_off(site, path, name="moved")
    with pytest.raises(InputError, match=f"{sha(OLD)} came, not {sha(NEW)}"):
        get(site, path, name="moved")
    assert get(site, path, name="moved", sha256=sha(OLD)) == sha(OLD)


def test_a_reply_without_a_length_needs_a_digest(site, path):
    site.tells_length = False
    with pytest.raises(InputError, match="without a length"):
        get(site, path)
    assert get(site, path, sha256=sha(OLD)) == sha(OLD)


@pytest.mark.parametrize(("name", "reason"), [("missing", "HTTP 404"), ("moved", "HTTP 302"), ("a b", "reached")])
def test_what_the_server_refuses_is_unreachable_and_leaves_no_litter(name, reason, site, path):
    with pytest.raises(UnreachableError, match=reason):
        get(site, path, name=name)
    assert list(path.parent.iterdir()) == []


@pytest.fixture
def small_disk():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (HALF, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_named_and_what_fitted_is_kept(site, path, small_disk):
    with pytest.raises(InputError, match=r"model.pth.part: .* bytes are there; make room"):
        get(site, path)
    assert path.with_name("model.pth.part").read_bytes() == OLD[:HALF]


def test_two_downloads_of_one_file_do_not_mix(site, path):
    def meanwhile(done, size):
        with pytest.raises(InputError, match="another process is downloading it"):
            get(site, path)

    assert get(site, path, watch=meanwhile) == sha(OLD)
