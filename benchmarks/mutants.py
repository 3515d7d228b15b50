"""Signs and orders of the core turned round one by one: each mutant must be killed by the tests of its room.

The same is done to the second version of the core that the tests hold against it.

python benchmarks/mutants.py            # minutes; the working tree is not touched
"""

import subprocess
import sys
import tempfile
from os import environ
from pathlib import Path
from shutil import copytree

ROOT = Path(__file__).parents[1]
MUTANTS = {
    "places/analytic.py": [
        ("self._absorb(rows, targets, weights, _LEARN", "self._absorb(rows, targets, weights, _UNLEARN"),
        ("roots = np.sqrt(weights)", "roots = (weights)"),
        ("(1 - len(states)) * origin,", "(len(states) - 1) * origin,"),
    ],
    "places/attenuation.py": [
        ("self.bound + self.gain", "self.bound - self.gain"),
        ("min(max(raw, self.floor), 1.0)", "max(min(raw, self.floor), 1.0)"),
    ],
    "places/unscented.py": [
        ("descriptor + step, descriptor - step", "descriptor + step, descriptor + step"),
        ("seen / (seen + 1)", "(seen + 1) / seen"),
    ],
    "places/mixture.py": [
        ("density = -0.5 *", "density = 0.5 *"),
        ("before * after - self._variances", "before * before - self._variances"),
    ],
    "retrieval/search.py": [
        ("np.argsort(-matches.scores", "np.argsort(matches.scores"),
        ("matches.scores[at] - rival", "rival - matches.scores[at]"),
        ("allowed is not None)", "allowed is None)"),
    ],
    "tracking/gates.py": [
        ("innovation > self.max_innovation + slack", "innovation > self.max_innovation - slack"),
        ("1.0 - innovation / self.max_innovation", "1.0 + innovation / self.max_innovation"),
        ("moved = min(moved,", "moved = max(moved,"),
        ("rejections[0] if rejections", "rejections[-1] if rejections"),
        ("<= self.max_jump + moved", "<= self.max_jump - moved"),
    ],
    "fusion/kalman.py": [
        ("measurement - H @ mean", "measurement + H @ mean"),
        ("np.eye(len(mean)) - L @ H", "np.eye(len(mean)) + L @ H"),
        ("kept @ P @ kept.T + L @ R @ L.T", "kept @ P @ kept.T - L @ R @ L.T"),
    ],
    "fusion/capf.py": [
        ("q * dt**2 / 2], [q * dt**2 / 2", "-q * dt**2 / 2], [-q * dt**2 / 2"),
        ("/ max(confidence, _LEAST_CONFIDENCE)", "* max(confidence, _LEAST_CONFIDENCE)"),
        ("belief.covariance[:2, :2] + self._reference", "belief.covariance[:2, :2] - self._reference"),
    ],
    "track.py": [
        ("if seen.position is not None:\n            belief", "if seen.position is None:\n            belief"),
    ],
}
SECOND = {
    "tests/second_version.py": [
        ("K - K @ X.T", "K + K @ X.T"),
        ("d + step, d - step", "d + step, d + step"),
        ("gamma + eta *", "gamma - eta *"),
        ("-score[allowed]", "score[allowed]"),
        ("1 - d / tau_p", "1 + d / tau_p"),
        ("d > n.tau_p + slack", "d > n.tau_p - slack"),
        ("moved = min(moved,", "moved = max(moved,"),
        ("q_p * dt**2, q_p * dt**2", "q_p * dt, q_p * dt"),
        ("max(r_l / max(c, 1e-4)", "max(r_l * max(c, 1e-4)"),
        ("z - H @ x", "z + H @ x"),
    ],
}
TESTS = (
    "places",
    "retrieval",
    "tracking",
    "fusion",
    "test_track.py",
    "test_localizer.py",
    "contracts",
    "test_second_version.py",
)


def survives(source: Path, mutant: tuple[str, str]) -> bool:
    """Whether every test passes with one line of a copy of the tree turned round."""
    before, after = mutant
    text = source.read_text(encoding="utf-8")
    if text.count(before) != 1:
        sys.exit(f"{source}: {before!r} stands there {text.count(before)} times, and must once")
    source.write_text(text.replace(before, after), encoding="utf-8")
    room = source.parent.name if source.parent.name not in ("tmapr", "tests") else source.stem
    first = sorted(TESTS, key=lambda name: room not in name)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        *(f"tests/{name}" for name in first),
    ]
    root = next(folder for folder in source.parents if (folder / "pyproject.toml").exists())
    environment = environ | {"PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": str(root / "numba")}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    source.write_text(text, encoding="utf-8")
    killer = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print(f"{source.name}: {before!r} → {after!r}: {killer[0][:110] if killer else 'SURVIVES'}", flush=True)
    return not killer


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory)
        for name in ("src", "tests", "benchmarks", "docs", "examples", "experiments"):
            copytree(ROOT / name, tree / name)
        for name in ("pyproject.toml", "README.md"):
            (tree / name).write_bytes((ROOT / name).read_bytes())
        files = {f"src/tmapr/{file}": several for file, several in MUTANTS.items()} | SECOND
        found = [survives(tree / file, each) for file, several in files.items() for each in several]
    print(f"{len(found) - sum(found)} of {len(found)} mutants are killed")
    sys.exit(any(found))


if __name__ == "__main__":
    main()
