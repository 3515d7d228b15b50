"""`tmapr weights pull` as a user gives it, against a server of this test's own."""

import hashlib
import io
import os
import pty
import signal
import sys
import zipfile
from http.server import BaseHTTPRequestHandler
from subprocess import DEVNULL, PIPE, Popen
from threading import Event

import pytest
import typer
from typer.testing import CliRunner

from secure_site import HOST, PEM, serve
from tmapr.cli.weights import pull
from tmapr.exceptions import InputError
from tmapr.perception.sources import find_source

CONTENT = bytes(range(256)) * 2000
PULL = "from tmapr.cli.main import run; run()"
DOWNLOAD = f"""
import sys
from pathlib import Path
from tmapr.artifacts.download import Bounds, fetch
path, bounds = Path('weights/dino_salad.ckpt'), Bounds(['{HOST}'])
fetch(sys.argv[1], path, bounds=bounds, sha256=None, watch=lambda done, _: print(done, flush=True))
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        site = self.server
        start, whole = int(self.headers.get("Range", "bytes=0-")[len("bytes=") : -1]), len(site.content)
        self.send_response(206 if start else 200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        self.send_header("Content-Length", str(whole - start))
        self.end_headers()
        site.asked.append(start)
        self.wfile.write(site.content[start : site.stop])
        site.go_on.wait()

    def log_message(self, *_): ...


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    return tmp_path


@pytest.fixture
def site():
    go_on = Event()
    go_on.set()
    with serve(Handler, content=CONTENT, stop=None, asked=[], go_on=go_on) as site:
        site.url = f"{site.address}/weights"
        yield site
        go_on.set()


def sha(content):
    return hashlib.sha256(content).hexdigest()


def known(site):
    """A mirror of one's own, and what must come from it."""
    return "--from", site.url, "--sha256", sha(site.content)


def pulled(*arguments):
    """Run the verb in this process; errors come through as they are."""
    app = typer.Typer()
    app.command()(pull)
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def started(program, *arguments, stdin=DEVNULL):
    return Popen([sys.executable, "-c", program, *arguments], stdin=stdin, stdout=PIPE, stderr=PIPE, text=True)


def refusal(*arguments):
    """What a user sees of a refused command: exit 2 and one line."""
    with started(PULL, "weights", "pull", *arguments) as process:
        printed, complaint = process.communicate()
    assert (process.returncode, complaint[:7], complaint.count("\n")) == (2, "tmapr: ", 1), complaint
    return printed, complaint


def test_the_licence_comes_first_then_the_path_the_digest_and_the_next_command(site, home):
    said = pulled("salad", "--yes", *known(site)).output
    order = ["352 MB", site.url, "GPL-3.0", "weights/dino_salad.ckpt", sha(CONTENT), "tmapr weights inspect weights/"]
    assert sorted(order, key=said.index) == order
    assert (home / "weights/dino_salad.ckpt").read_bytes() == CONTENT


def test_without_a_terminal_consent_is_an_option(site, home):
    printed, complaint = refusal("salad", *known(site))
    assert "GPL-3.0" in printed
    assert "--yes" in complaint
    assert (os.listdir(home), site.asked) == ([], [])


@pytest.mark.parametrize(("answer", "files"), [(b"n\n", []), (b"y\n", ["dino_salad.ckpt", "dino_salad.ckpt.sha256"])])
def test_on_a_terminal_consent_is_asked_for(answer, files, site, home):
    keyboard, terminal = (os.fdopen(end, "r+b", buffering=0) for end in pty.openpty())
    with keyboard, terminal, started(PULL, "weights", "pull", "salad", *known(site), stdin=terminal) as process:
        keyboard.write(answer)
        assert "accept the licence?" in process.communicate()[0]
    assert process.returncode == (0 if files else 2)
    assert sorted(path.name for path in home.glob("weights/*")) == files


@pytest.mark.parametrize(("name", "last"), [("salad", "inspect w/"), ("anythermal", "pull anythermal --out w")])
def test_without_a_network_the_way_by_hand_is_printed(name, last):
    printed, complaint = refusal(name, "--yes", "--out", "w", "--from", "https://127.0.0.1:1/", "--sha256", "0" * 64)
    source = find_source(name)
    steps = [f"download {source.url}", f"copy it to w/{source.file}", f"tmapr weights {last}"]
    assert sorted(steps, key=printed.index) == steps
    assert "cannot be reached (" in complaint


def test_a_mirror_must_have_what_was_published_unless_a_digest_is_given(site, home):
    with pytest.raises(InputError, match=find_source("dinov2", "vits14_reg").sha256):
        pulled("dinov2", "--variant", "vits14_reg", "--yes", "--from", site.url)
    pulled("dinov2", "--variant", "vits14_reg", "--yes", "--from", site.url, "--sha256", sha(CONTENT))
    assert (home / "weights/dinov2_vits14_reg4_pretrain.pth").read_bytes() == CONTENT


def test_a_mirror_whose_content_nobody_knows_is_refused(site, home):
    assert "say with --sha256 what must come from it" in refusal("salad", "--yes", "--from", site.url)[1]
    assert (os.listdir(home), site.asked) == ([], [])


def test_a_second_pull_downloads_nothing_and_a_later_download_must_be_the_same(site, home):
    for _ in range(2):
        pulled("salad", "--yes", *known(site))
    assert site.asked == [0]
    (home / "weights/dino_salad.ckpt").unlink()
    site.content = CONTENT[::-1]
    with pytest.raises(InputError, match=f"{sha(CONTENT[::-1])} came, not {sha(CONTENT)}"):
        pulled("salad", "--yes", "--from", site.url)


@pytest.mark.parametrize("option", [[], ["--remove-zip"]])
def test_anythermal_is_unpacked_and_its_archive_kept_or_removed(option, site, home):
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as bundle:
        for member in find_source("anythermal").members:
            bundle.writestr(member, member)
    site.content = buffer.getvalue()
    said = pulled("anythermal", "--yes", *known(site), *option).output
    assert said.count("tmapr weights inspect weights/model") == 2
    assert (home / "weights/model_35.pth").read_text() == "pretrained_checkpoints/vpr/model_35.pth"
    assert (home / "weights/anythermal_checkpoints.zip").exists() is not bool(option)


@pytest.mark.parametrize("stop", [1, len(CONTENT) // 2, len(CONTENT) - 1])
def test_a_killed_download_is_continued_and_the_name_never_holds_a_half(stop, site, home):
    site.stop = stop
    site.go_on.clear()
    with started(DOWNLOAD, site.url) as process:
        assert any(int(line) == stop for line in process.stdout)
        process.send_signal(signal.SIGKILL)
    site.go_on.set()
    assert process.returncode == -signal.SIGKILL
    assert sorted(os.listdir("weights")) == ["dino_salad.ckpt.part", "dino_salad.ckpt.part.json"]
    site.stop = None
    pulled("salad", "--yes", *known(site))
    assert (home / "weights/dino_salad.ckpt").read_bytes() == CONTENT
    assert site.asked == [0, stop]
