"""A PostgreSQL server of one's own, for tests and benchmarks: started, killed as by a power cut, started again.

The binaries are Debian's, or those on the path, or those of the package pgserver, in this order. The server refuses to
be root: then it is nobody, in a folder that is nobody's.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_NOBODY = "nobody"
_PATIENCE = 60.0


def find_binaries() -> list[Path]:
    """Folders that hold a PostgreSQL server, the best first."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: -int(each.parent.name.split(".")[0]))
    on_path = shutil.which("pg_ctl")
    if on_path:
        found.append(Path(on_path).resolve().parent)
    package = importlib.util.find_spec("pgserver")
    if package and package.submodule_search_locations:
        found.append(Path(package.submodule_search_locations[0]) / "pginstall/bin")
    return [each for each in found if (each / "initdb").is_file() and (each / "postgres").is_file()]


@dataclass
class Server:
    """A server that listens on this machine; its superuser is `postgres`."""

    binaries: Path
    home: Path
    port: int
    password: str = field(default_factory=lambda: secrets.token_hex(16))
    settings: tuple[str, ...] = ()
    _process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.home / "log.txt"

    def address(self, user: str = "postgres", password: str | None = None, database: str = "fleet") -> str:
        """As a client gives it."""
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def make(self, certificate: Path | None = None) -> None:
        """Make the database's files and start."""
        secret = self.home / "password"
        secret.write_text(self.password)
        self._own(secret)
        arguments = ["--auth=scram-sha-256", "--username=postgres", f"--pwfile={secret}", "--encoding=UTF8"]
        self._call("initdb", "--pgdata", str(self.home / "data"), "--no-locale", "--no-sync", *arguments)
        if certificate:
            for name in ("server.crt", "server.key"):
                shutil.copy(certificate, self.home / "data" / name)
                (self.home / "data" / name).chmod(0o600)
                self._own(self.home / "data" / name)
            self.settings = (*self.settings, "ssl=on")
        self.start()
        self.execute("CREATE DATABASE fleet", database="postgres")

    def start(self) -> None:
        """Start and wait until it answers."""
        settings = (f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", *self.settings)
        options = [word for setting in settings for word in ("-c", setting)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_user(), str(self.binaries / "postgres"), "-D", str(self.home / "data"), *options],
                stdout=log, stderr=log, cwd=self.home, start_new_session=True,
            )  # fmt: skip
        self._wait()

    def execute(self, statement: str, database: str = "fleet", user: str = "postgres", password: str = "") -> list:
        """Let somebody execute a statement; what it returned."""
        import psycopg

        with psycopg.connect(self.address(user, password or None, database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """End the server and all of its processes at once, without a word."""
        if self._process is None:
            return
        parent = self._process.pid
        family = [parent, *_list_children(parent)]
        os.kill(parent, signal.SIGKILL)
        for child in family[1:]:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.wait()
        self._process = None
        deadline = time.monotonic() + _PATIENCE
        while any(_is_running(each) for each in family) and time.monotonic() < deadline:
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_PATIENCE)
            self._process = None

    def _wait(self) -> None:
        import psycopg

        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                psycopg.connect(self.address(database="postgres"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                ended = self._process is None or self._process.poll() is not None
                if ended or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL did not start: {self.log.read_text()[-2000:]}") from None
                time.sleep(0.05)

    def _call(self, program: str, *arguments: str) -> None:
        command = [*_as_user(), str(self.binaries / program), *arguments]
        done = subprocess.run(command, cwd=self.home, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout[-1000:]}{done.stderr[-1000:]}")

    def _own(self, path: Path) -> None:
        if os.getuid() == 0:
            shutil.chown(path, _NOBODY, pwd.getpwnam(_NOBODY).pw_gid)


@contextmanager
def serving(binaries: Path, *, certificate: Path | None = None, settings: tuple[str, ...] = ()) -> Iterator[Server]:
    """A server that runs meanwhile and leaves nothing behind."""
    home = Path(tempfile.mkdtemp(prefix="tmapr-postgres-"))
    server = Server(_reach(binaries, home), home, _find_port(), settings=settings)
    try:
        server._own(home)
        server.make(certificate)
        yield server
    finally:
        server.kill()
        shutil.rmtree(home, ignore_errors=True)


def _as_user() -> list[str]:
    if os.getuid() != 0:
        return []
    user = pwd.getpwnam(_NOBODY)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


def _reach(binaries: Path, home: Path) -> Path:
    """The binaries, or a copy of their installation where the server's user cannot read them."""
    try:
        subprocess.run([*_as_user(), str(binaries / "postgres"), "--version"], check=True, capture_output=True, cwd="/")
        return binaries
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(binaries.parent, home / "installed", symlinks=True)
        home.chmod(0o755)
        for path in (home / "installed").rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755)
        return home / "installed" / binaries.name


def _find_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _list_children(parent: int) -> list[int]:
    children = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            if int(entry.read_text().rpartition(")")[2].split()[1]) == parent:
                children.append(int(entry.parent.name))
    return children


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
