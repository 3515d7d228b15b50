"""Downloads from a real server that can break off, change its mind and lie; a half file never gets the final name."""

import hashlib
import resource
from http.server import BaseHTTPRequestHandler

import pytest

from secure_site import HOST, PEM, serve
from tmapr.artifacts.download import Bounds, UnreachableError, fetch
from tmapr.exceptions import InputError

OLD = bytes(range(256)) * 2000
NEW = OLD[::-1]
HALF = len(OLD) // 2
LOCAL = Bounds([HOST])


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
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    elsewhere = {"/missing": (404, {}), "/moved": (302, {"Location": "/file"})}
    honest = {"ranges": True, "checks_version": True, "tells_length": True}
    with serve(Handler, content=OLD, etag='"old"', cut=None, sent=[], elsewhere=elsewhere, **honest) as site:
        yield site


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pth"


def sha(content):
    return hashlib.sha256(content).hexdigest()


def get(site, path, *, sha256=None, name="file", bounds=LOCAL, watch=lambda done, size: None):
    return fetch(f"{site.address}/{name}", path, bounds=bounds, sha256=sha256, watch=watch)


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


@pytest.mark.parametrize(("name", "reason"), [("missing", "HTTP 404"), ("a b", "reached")])
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


WHERE = {
    "by http": ("http://127.0.0.1/file", "only https addresses are fetched"),
    "by ftp": ("ftp://127.0.0.1/file", "only https addresses are fetched"),
    "from the disk": ("file:///etc/hostname", "only https addresses are fetched"),
    "from nowhere": ("https:///file", "only https addresses are fetched"),
    "from no address": ("https://[::1/file", "only https addresses are fetched"),
    "from another host": ("https://example.org/file", r"is at none of the hosts to download it from \(127.0.0.1\)"),
    "from a host that sounds alike": ("https://x127.0.0.1/file", "is at none of the hosts"),
    "from a host behind a name": ("https://127.0.0.1@example.org/file", "is at none of the hosts"),
}


@pytest.mark.parametrize(("url", "answer"), WHERE.values(), ids=WHERE)
def test_nothing_comes_from_elsewhere_nor_by_way_of_it(url, answer, site, path):
    with pytest.raises(InputError, match=answer):
        fetch(url, path, bounds=Bounds([HOST]), sha256=None, watch=lambda done, size: None)
    site.elsewhere["/moved"] = 302, {"Location": url}
    if not url.startswith(("https:///", "https://[")):  # which urllib takes for a path of this site, or for nothing
        with pytest.raises((InputError, UnreachableError), match=answer + "|HTTP 302"):
            get(site, path, name="moved")
    assert list(path.parent.iterdir()) == []


def test_a_site_that_nobody_vouches_for_is_not_believed(site, path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(UnreachableError, match="certificate verify failed"):
        get(site, path)
    assert site.sent == []


@pytest.mark.parametrize("tells_length", [True, False])
def test_no_more_is_taken_than_allowed(tells_length, site, path):
    site.tells_length = tells_length
    with pytest.raises(InputError, match=f"at most {HALF} are taken"):
        get(site, path, sha256=sha(OLD), bounds=Bounds([HOST], largest=HALF))
    assert list(path.parent.iterdir()) == []
    assert get(site, path, sha256=sha(OLD), bounds=Bounds([HOST], largest=len(OLD))) == sha(OLD)
