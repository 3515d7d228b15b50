"""The steps of the Dockerfile in a fresh root of Debian, where this machine can make one: an engine is not needed."""

import os
import re
import shlex
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEPS = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)).split("\n")
CERTIFICATES = "/etc/lent-certificates.crt"
KNOWN = ("ARG", "FROM", "RUN", "ENV", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD")


def list_steps():
    return [tuple(step.split(maxsplit=1)) for step in STEPS if step.strip()]


class Container:
    """A root folder, and what the steps before have set."""

    def __init__(self, root, arguments):
        self.root, self.arguments = root, arguments
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        self.user, self.folder = "root", "/"

    def take(self, word, rest):
        """One step of the Dockerfile."""
        if word == "RUN":
            self.run(rest)
        elif word == "ARG":
            name, _, value = rest.partition("=")
            self.arguments.setdefault(name, value)
        elif word == "ENV":
            name, _, value = rest.partition("=")
            self.environment[name] = value.replace("$PATH", self.environment["PATH"])
        elif word == "COPY":
            self.copy(*shlex.split(rest))
        elif word == "USER":
            self.user = rest
        elif word == "WORKDIR":
            self.folder = rest

    def run(self, line):
        """A shell in the root, with the settings of the steps so far and this machine's way to its package index."""
        lent = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        given = {**self.arguments, **self.environment, **lent, "HOME": home, "PIP_CERT": CERTIFICATES}
        words = [f"{name}={value}" for name, value in given.items()]
        inside = f"cd {self.folder} && {line}"
        enter = ["chroot", f"--userspec={self.user}", str(self.root), "/usr/bin/env", "-i", *words, "sh", "-c", inside]
        done = subprocess.run(enter, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def copy(self, source, target):
        """What git knows of the source tree, and files that are new: no more is of use in an image."""
        assert source == "."
        asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
        for name in listed:
            if (ROOT / name).is_file():
                into = self.root / target.lstrip("/") / name
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, into)


def lend_index(root):
    """Let pip and apt inside find what they find outside: certificates, names of hosts, folders that pip is told of."""
    mounted = []
    for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf"):
        if Path(path).exists():
            shutil.copy(path, root / path.lstrip("/"))
    # Beside the root's own, which its packages write anew.
    shutil.copy(os.environ.get("PIP_CERT", ssl.get_default_verify_paths().cafile), root / CERTIFICATES.lstrip("/"))
    told = subprocess.run(["python3", "-m", "pip", "config", "list"], capture_output=True, text=True, check=True).stdout
    lines = [line.partition("=")[::2] for line in told.splitlines()]
    own = "".join(f"{name.partition('.')[2]} = {shlex.split(value)[0]}\n" for name, value in lines if "global" in name)
    (root / "root/.config/pip").mkdir(parents=True)
    (root / "root/.config/pip/pip.conf").write_text(f"[global]\n{re.sub('cert = .*', '', own)}")
    for folder in sorted(set(re.findall(r"(?:file://[^/'\s]*|')(/[\w./-]+)", told))):
        # An index names files beside itself.
        lent = Path(folder).parent if folder.endswith("/simple") else Path(folder)
        if lent.is_dir():
            inside = root / str(lent).lstrip("/")
            inside.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", str(lent), str(inside)], check=True)
            mounted.append(inside)
    return mounted


@pytest.fixture(scope="module")
def fresh_root(tmp_path_factory):
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("a fresh root takes debootstrap and root's rights")
    root = tmp_path_factory.mktemp("container") / "root"
    sources = "".join(path.read_text() for path in sorted(Path("/etc/apt").glob("sources.list*/*")))
    mirrors = re.findall(r"^(?:URIs:|deb) (\S*/debian/?)(?: |$)", sources, re.MULTILINE)
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "bookworm", str(root), *mirrors[:1]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no fresh root could be made: {made.stdout[-200:]}")
    mounted = lend_index(root)
    yield root
    for inside in mounted:
        subprocess.run(["umount", str(inside)], check=True)
    shutil.rmtree(root)


def test_the_dockerfile_has_no_step_that_is_not_tried():
    steps = list_steps()
    assert {word for word, _ in steps} <= set(KNOWN)
    assert ("ARG", "BASE=debian:bookworm-slim") in steps
    assert steps[-2:] == [("ENTRYPOINT", '["tmapr"]'), ("CMD", '["--help"]')]


@pytest.mark.long
def test_the_steps_of_the_dockerfile_end_in_a_command_that_runs_the_demo(fresh_root):
    container = Container(fresh_root, {})
    for word, rest in list_steps():
        container.take(word, rest)
    assert (container.user, container.folder) == ("robot", "/work")
    assert "Localize a robot" in container.run("tmapr --help")
    told = container.run("tmapr demo --quick")
    assert "CPU seconds" in told
    assert (fresh_root / "work/runs/demo/report/index.html").exists()
    assert not (fresh_root / "src").exists()
