"""`tmapr bench`: the JSON line that programs read, a run folder's own parts, and what is refused."""

import io
import json
import re
import shutil
from contextlib import chdir, redirect_stdout

import pytest
import torch
from test_train import EXPERIMENT, write_drive

from commandline import command
from tmapr.experiment import read_experiment
from tmapr.perception.vit import VisionTransformer
from tmapr.system import Map

SMALL = ("--frames", 3, "--updates", 30, "--set", "places.projection.dimension=64")
STAGES = ["prepare", "encode", "places", "search", "gates_filter", "update", "localization", "cycle", "place_inference"]
FIGURES = ["mean_ms", "p95_ms", "hz", "p50_ms", "p99_ms", "floor_ms"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home in which a street was mapped, another one adapted to, and the night localized."""
    home = tmp_path_factory.mktemp("home")
    write_drive(home / "data/noon", 30, seed=1)
    write_drive(home / "data/night", 6, seed=2)
    write_drive(home / "data/elsewhere", 6, seed=3)
    table = home / "data/elsewhere/frames.csv"
    table.write_text(table.read_text().replace(",5.0,", ",905.0,"))
    adapted = EXPERIMENT.replace("test =", 'adapt = ["elsewhere"]\ntest =')
    (home / "street.toml").write_text(adapted + "[places.projection]\ndimension = 64\n")
    with chdir(home):
        for verb in ("map", "run"):
            assert command(verb, "street.toml", "--quiet", "--device", "cpu") == 0
    return home


@pytest.fixture
def street(home, monkeypatch):
    monkeypatch.chdir(home)
    return home / "runs/street"


@pytest.fixture
def bench(capsys):
    """What the command printed: all of it, and its last line read."""

    def run(*arguments):
        assert command("bench", "--device", "cpu", *arguments) == 0
        printed = capsys.readouterr().out
        return printed, json.loads(printed.splitlines()[-1])

    return run


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """What the command printed of a made-up map, and the file it wrote."""
    out, printed = tmp_path_factory.mktemp("times") / "new/times.json", io.StringIO()
    with redirect_stdout(printed):
        assert command("bench", "--device", "cpu", *SMALL, "--references", 40, "--out", out) == 0
    return printed.getvalue(), out


def test_the_last_line_is_the_result_and_the_file_holds_the_same(made_up):
    printed, out = made_up
    assert json.loads(printed.splitlines()[-1]) == json.loads(out.read_text())
    assert "localization, image to estimate" in printed
    assert "paper (hardware as it states)" in printed


def test_cells_are_as_large_as_the_places_wanted_need(bench):
    shown = ("--frames", 1, "--updates", 3, "--references", 60, "--places", 6, "--quiet")
    _, result = bench(*shown, "--set", "places.projection.dimension=64")
    assert result["places"] == pytest.approx(6, abs=1)
    assert result["lessons"] is None


def test_every_stage_has_mean_percentile_and_rate(made_up):
    result = json.loads(made_up[1].read_text())
    assert list(result["stages"]) == STAGES
    for figures in result["stages"].values():
        assert list(figures) == FIGURES
        assert figures["hz"] == pytest.approx(1000 / figures["mean_ms"])
    for updates in (result["updates"], result["ridge_update"]):
        assert list(updates) == [*FIGURES, "count", "thirds_ms", "ratio", "worst_ms"]
        assert updates["count"] == 30
        assert sum(updates["thirds_ms"]) / 3 == pytest.approx(updates["mean_ms"])  # thirds of ten turns each
        assert updates["ratio"] == pytest.approx(updates["thirds_ms"][2] / updates["thirds_ms"][0])


def test_floors_are_of_a_bandwidth_that_was_measured_in_the_same_run(made_up):
    result = json.loads(made_up[1].read_text())
    bounded = {stage for stage, figures in result["stages"].items() if figures["floor_ms"] is not None}
    assert bounded == {"places", "search", "place_inference"}
    references, width = result["references"], result["descriptor"]
    floor = 4e-6 * references * width / result["bandwidth_gb_s"]
    assert result["stages"]["search"]["floor_ms"] == pytest.approx(floor)


@pytest.fixture(scope="module")
def recorded(home):
    """What the command printed of a run folder when asked for nothing but the result; it left the folder as it was."""
    street, printed = home / "runs/street", io.StringIO()
    before = {path: path.stat().st_mtime_ns for path in street.rglob("*")}
    with chdir(home), redirect_stdout(printed):
        assert command("bench", street, "--device", "cpu", *SMALL, "--quiet") == 0
    assert {path: path.stat().st_mtime_ns for path in street.rglob("*")} == before
    return printed.getvalue()


def test_a_run_folder_is_timed_with_its_own_map_and_recorded_frames(recorded):
    result = json.loads(recorded)
    assert result["images"] == "recorded, night"
    assert (result["references"], result["lift"], result["pose_head"]) == (30, 64, False)
    assert list(result["stages"]) == STAGES


def test_a_run_folder_starts_from_what_it_learned(recorded, street):
    system = read_experiment(street / "experiment.toml").system
    mapped = Map.load(street / "map.npz", system).classifier()
    assert json.loads(recorded)["places"] > len(mapped.grid)


def test_a_run_folder_without_its_data_says_that_its_images_are_made_up(bench, street, tmp_path, monkeypatch):
    shutil.copytree(street, tmp_path / "street")
    monkeypatch.chdir(tmp_path)
    printed, result = bench("street", *SMALL, "--format", "json")
    assert printed.count("\n") == 1
    assert re.match(r"made up, .*\(.*data/night.*\)$", result["images"])
    assert (result["references"], result["accepted"]) == (30, 3)


ALIKE = ("--set", "perception.size=[98, 98]", "--set", 'perception.descriptor={parts=["pooling"], weights=[1.0]}')


@pytest.fixture
def exported(tmp_path):
    """A tiny ViT as `tmapr export` writes it."""
    torch.manual_seed(1)
    torch.save(VisionTransformer(64, 2, 1, rows=5, columns=5).state_dict(), tmp_path / "tiny.pth")
    given = (f"perception.encoder={tmp_path / 'tiny.pth'}", "--out", tmp_path / "int8.onnx", "--int8", "--quiet")
    assert command("export", "--set", *given, *ALIKE) == 0
    return tmp_path / "int8.onnx"


def test_a_file_with_int8_is_timed_as_such(exported, bench, capsys):
    shown = (*SMALL, "--references", 40, "--encoder", exported, *ALIKE, "--quiet")
    _, result = bench(*shown)
    assert (result["precision"], result["runtime"], result["size"]) == ("int8", "onnxruntime", [98, 98])
    assert result["encoder"] == str(exported)
    assert command("bench", *shown, "--precision", "float32") == 2
    assert "--precision float32" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to use")
@pytest.mark.parametrize("encoder", ["default", "vit-b14"])
def test_a_gpu_that_is_not_there_is_refused(encoder, capsys):
    assert command("bench", "--device", "cuda", "--encoder", encoder) == 2
    assert capsys.readouterr().err == "tmapr: --device cuda: torch sees no GPU here; use cpu\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--updates", "2"), r"--updates 2: must be at least 3"),
        (("--frames", "0"), r"--frames 0: must be at least 1"),
        (("--precision", "int8"), r"--precision int8: the encoder is float32 by onnx.* `tmapr export --int8`"),
        (("--precision", "float16"), r"--precision float16: the encoder is float32 by onnxruntime on cpu; .*"),
        (
            ("--precision", "float16", "--encoder", "vit-b14", "--frames", "1"),
            r"--precision float16: the encoder is float32 by torch on cpu; .*",
        ),
        (("--set", "perception.precision=float16"), r"--set perception.precision: .* by --precision"),
        (("--encoder", "nothing.onnx"), r"nothing.onnx: no such file"),
        (("--out", "."), r"--out \.: is a folder; name the file to write"),
        (("data",), r"data: holds no map.npz; make one with `tmapr map EXPERIMENT`"),
        (("runs/street", "--encoder", "default"), r"runs/street: has an encoder and references of its own; .*"),
        (("runs/street", "--set", "places.cell=20"), r"runs/street/map.npz: was mapped with places.cell.*"),
    ],
)
def test_what_cannot_be_timed_is_refused_in_one_line(arguments, said, street, capsys):
    assert command("bench", "--device", "cpu", *arguments) == 2
    error = capsys.readouterr().err
    assert re.fullmatch(f"tmapr: {said}\n", error)
