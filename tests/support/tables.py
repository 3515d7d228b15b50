"""Which commands of the pages take long, what some are given beside what is typed, and which are not run at all."""

LONG = {
    "tmapr demo --quick --out runs/trial": "the same with fewer frames",
    "tmapr simulate data/town --layout ms2 --traverses noon,dusk,night --detour night": "3600 images",
    "tmapr simulate data/town --layout ms2 --traverses noon,dusk,overcast,night": "4800 images",
    "tmapr simulate data/hall --layout folder --family campus --seed 7 --aliasing 0.8": "2400 images",
    "tmapr simulate data/dale --layout sthereo --family valley --traverses noon,night --detour night": "2400 images",
    "tmapr simulate data/else --layout folder --style 7 --traverses noon,night": "1200 images",
    "time tmapr simulate OUT --layout ms2": "4800 images",
    "tmapr calibrate street.toml --out calibrated.toml": "sixty replays",
    "tmapr ablate street.toml --workers 2": "eleven processes",
    "tmapr compare street.toml --trunks frozen --seeds 1 --format markdown": "four networks",
    "tmapr export street.toml --out street.onnx": "torch writes ONNX",
    "tmapr map street.toml --cluster 2": "two processes",
    "tmapr simulate data/part --layout folder --seed 31 --traverses noon,night --frames 200 --length 400": "400 images",
    "tmapr bench runs/street --out latency.json": "4000 updates, timed",
    "tmapr bench --out default.json": "the same",
    "OMP_NUM_THREADS=1 tmapr bench --encoder vit-b14 --frames 10 --out vit.json": "a large encoder",
    "python benchmarks/check.py": "10 000 files",
    "python benchmarks/render.py": "600 frames, several ways",
    "python benchmarks/route_latency.py": "100 000 references",
}
"""Each of them is run in a home of its own."""

REAL = {"python benchmarks/real_images.py --sheet docs/images/metu.png"}
"""The same, where the real sets lie beside the checkout."""

GIVEN = {"tmapr weights pull dinov2 --variant vits14": "--yes --from {address} --sha256 {digest}"}
"""The publisher's host is not asked by tests: a site of their own has the file."""

NOT_RUN = (
    "make ",  # minutes to hours; `make demo` is what tests/long/test_demo.py runs
    ".venv/bin/python -m pytest ",  # parts of this suite
    "tmapr demo",  # tests/long/test_demo.py
    "tmapr export runs/trained",  # of what a trained demonstration leaves
    "docker ",  # tests/long/test_container.py takes the steps
    "tmapr state rollback", "tmapr state unlearn", "tmapr state merge",  # of drives that learned
    "tmapr map street.toml --cluster tcp:",  # no cluster; tests/long/cluster has one
    "tmapr upkeep ",  # of maps of one's own
    "tmapr bench --device cuda", "tmapr weights train",  # need a GPU
    "python benchmarks/gpu.py", "python benchmarks/half_precision.py", "python benchmarks/bulk.py",  # the same
    ".venv/bin/python benchmarks/update.py --full",  # minutes to hours
    "python benchmarks/cluster.py", "OMP_NUM_THREADS=1 python benchmarks/scale_cost.py",
    "python benchmarks/soak.py",
    "tmapr study ",  # hours
)  # fmt: skip
"""How they begin. Of these only the verb, the options, the target or the script are looked up."""


def is_apart(typed: str) -> bool:
    """Whether a command is not run with the rest of its page."""
    return typed in LONG or typed in REAL or typed.startswith(NOT_RUN)
