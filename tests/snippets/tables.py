"""Which commands of the pages take long, what some are given beside what is typed, and which are not run at all."""

LONG = {
    "make demo": "a whole demonstration",
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
    "python benchmarks/check.py; python benchmarks/bag.py": "10 000 files",
    "python benchmarks/render.py": "600 frames, several ways",
    "python benchmarks/route_latency.py": "100 000 references",
    ".venv/bin/python benchmarks/training.py": "trains",
    ".venv/bin/python benchmarks/house.py fdac65f HEAD": "reads every file of two commits",
}
"""Each of them has a test of its own, with the mark `long`."""

REAL = {
    "python benchmarks/real_images.py --sheet docs/images/metu.png",
    "python benchmarks/verification.py",
}
"""The same, where the real sets lie beside the checkout."""

GIVEN = {"tmapr weights pull dinov2 --variant vits14": "--yes --from {address} --sha256 {digest}"}
"""The publisher's host is not asked by tests: a site of their own has the file."""

NOT_RUN = {
    "make test": "is this suite",
    ".venv/bin/python -m pytest tests/places tests/contracts/test_classifier_contract.py": "is part of this suite",
    ".venv/bin/python -m pytest tests/test_second_version*.py -n 2 --dist loadfile": "is part of this suite",
    "tmapr demo": "is what `make demo` does, and that is run",
    "tmapr demo --train --out runs/trained": "ten minutes; tests/end_to_end/test_demo.py trains with fewer frames",
    "tmapr export runs/trained/experiment.toml --out demo.onnx": "of what those ten minutes leave",
    "docker build -t tmapr .": "no engine here; tests/end_to_end/test_container.py takes the steps",
    'docker run --rm -v "$PWD:/work" tmapr demo': "the same",
    "make bench": "a quarter of an hour; most of what it runs is run by itself",
    ".venv/bin/python benchmarks/update.py --full": "a quarter of an hour",
    "make worlds": "a quarter of an hour",
    "make real": "minutes, and real sets that are not shipped",
    ".venv/bin/python benchmarks/finetuning.py": "a quarter of an hour",
    ".venv/bin/python benchmarks/same_results.py fdac65f HEAD": "a quarter of an hour",
    ".venv/bin/python benchmarks/mutants.py": "a quarter of an hour, and changes the sources",
    "tmapr state rollback runs/street/live --last 20": "of a drive that learned; test_state_command.py",
    "tmapr state unlearn runs/street/live --stamps 1700000000000000000 1700000060000000000": "the same",
    "tmapr state merge runs/street runs/robot1 runs/robot2 --out runs/fleet": "of two robots; the same",
    "tmapr map street.toml --cluster tcp://node01:8786 --shards s3://maps/street": "no cluster; tests/cluster have one",
    "python benchmarks/cluster.py data/part --out runs/part": "of the world above; a minute on two quiet cores",
    "tmapr upkeep extend runs/street dusk --out runs/longer": "of maps of one's own; test_upkeep_command.py",
    "tmapr upkeep join runs/street runs/harbour --out runs/town": "the same",
    "tmapr upkeep drop runs/street --box 20,-15,80,15 --out runs/shorter": "the same",
    "tmapr upkeep diff runs/street runs/longer --page diff.html": "the same",
    "OMP_NUM_THREADS=1 python benchmarks/upkeep.py": "minutes; tests/upkeep has the same at once",
    "tmapr shards install robot --run runs/street": "takes the state that other examples show; test_shards_command.py",
    "python benchmarks/scale_search.py --folder scale --references 1000000,100000,10000": "minutes, and 6 GB",
    "OMP_NUM_THREADS=1 python benchmarks/scale_cost.py runs/demo": "needs the demonstration",
    "python benchmarks/scale_shards.py --folder scale --references 20000": "a minute and a gigabyte of disk",
    "tmapr fleet enrol postgresql://admin@fleet.example/fleet robot7": "needs a server; test_fleet_server.py",
    "tmapr fleet retire postgresql://admin@fleet.example/fleet robot7": "the same",
    "python benchmarks/fleet_load.py": "two minutes, and a server; test_fleet_server.py runs it small",
    "make places": "hours, and real sets that are not shipped",
    "make learning": "hours",
    "python benchmarks/twins.py --choosing": "renders twelve worlds",
    "python benchmarks/learning.py --only campus-1 campus-3 city-3 city-5 valley-5 valley-9": "half an hour",
    "python benchmarks/elsewhere.py --reporting": "an hour, and real sets that are not shipped",
    "python benchmarks/rival_filters.py --untrained": "hours",
    "python benchmarks/styles.py --choosing": "hours",
    "python benchmarks/soak.py --frames 3000": "minutes on two quiet cores",
    "python benchmarks/device_update.py --write-reference w.npz": "seven minutes",
    "python benchmarks/device_update.py --reference w.npz --out update.json": "needs a GPU; tests run it small",
    "python benchmarks/device_recognition.py --device cuda": "the same",
    "python benchmarks/device_places.py --device cuda": "the same",
    "python benchmarks/half_precision.py --device cuda": "the same",
    "python benchmarks/bulk.py --device cuda --encoder vit-b14 --images 4000": "the same",
    "python benchmarks/device_verdicts.py runs/demo": "needs a GPU; tests/device/test_device_way.py compares on a CPU",
    "tmapr bench --device cuda --encoder vit-b14 --references 20000 --places 125"
    " --set places.projection.kind=identity --frames 2000": "needs a GPU; tests/latency go that way on a CPU",
    "python benchmarks/device_perception.py --out perception.json": "the same",
    "python benchmarks/device_filter.py --out filter.json": "the same",
    "make table": "hours without a GPU",
    "make study": "hours",
    "make paper DATA=folder": "data that are not ours; tests/benchmarks/test_paper.py goes that way with rendered ones",
    "tmapr weights train head.safetensors --device cuda": "hours without a GPU",
}
"""Of these it is checked that the files are there and that exactly these options are taken."""

APART = {*LONG, *REAL, *NOT_RUN}
"""What is not run with the rest of its page."""
