"""One home with all that the pages name, made once; each page follows its snippets in a copy."""

import hashlib
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from blocks import read_blocks
from checkout import make_checkout
from following import Home, Site
from world import copy_linked, make_world

from secure_site import PEM, serve


class Handler(BaseHTTPRequestHandler):
    """Whatever is asked for, it is the one file."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_): ...


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """The tests' own site is trusted and no proxy is between; what opens a browser opens nothing."""
    for name, value in {"no_proxy": "*", "SSL_CERT_FILE": str(PEM), "BROWSER": "true"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """Nothing but what a fresh clone has, for what is looked at and not run."""
    return make_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """The home that all others are copies of."""
    return make_world(make_checkout(tmp_path_factory.mktemp("prepared")))


@pytest.fixture(scope="session")
def site(prepared):
    """A publisher of weights that this machine trusts."""
    content = (prepared / "weights/dino_salad.ckpt").read_bytes()
    with serve(Handler, content=content) as served:
        yield Site(f"{served.address}/weights", hashlib.sha256(content).hexdigest())


@pytest.fixture(scope="session")
def new_home(prepared, site, tmp_path_factory):
    """Makes a home to follow snippets in."""

    def make() -> Home:
        # Beside the others: what lies next to a checkout is found there.
        folder = tmp_path_factory.mktemp("home")
        copy_linked(prepared, folder)
        return Home(folder, site)

    return make


@pytest.fixture(scope="session")
def follow(new_home):
    """Follows a page, once."""
    followed: dict[Path, Home] = {}

    def once(page: Path) -> Home:
        if page not in followed:
            home = new_home()
            try:
                for block in read_blocks(page):
                    home.follow(block)
                home.execute()
            finally:
                home.leave()
            followed[page] = home
        return followed[page]

    return once
