"""Who runs an ONNX file: the CPU, CUDA or TensorRT, by what is asked for and what is installed."""

import onnxruntime
import pytest

from tmapr.device import choose_precision
from tmapr.exceptions import InputError
from tmapr.perception.onnx import CUDA, SHIPPED, TENSORRT, choose_providers, open_session
from tmapr.perception.opening import needs_torch
from tmapr.perception.settings import Perception

CPU = "CPUExecutionProvider"
JETSON = [TENSORRT, CUDA, CPU]


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tmapr/tensorrt"


@pytest.mark.parametrize(
    ("device", "available", "chosen"),
    [
        ("cpu", JETSON, [CPU]),
        ("auto", [CPU], [CPU]),
        ("auto", [CUDA, CPU], [CUDA, CPU]),
        ("auto", JETSON, [CUDA, CPU]),  # nobody asked for minutes of building an engine
        ("cuda", [CUDA, CPU], [CUDA, CPU]),
        ("cuda:1", JETSON, [TENSORRT, CUDA, CPU]),
    ],
)
def test_the_best_that_is_installed_is_asked_first_and_the_cpu_last(device, available, chosen):
    assert [name for name, _ in choose_providers(device, available, "float16")] == chosen


def test_a_gpu_is_chosen_by_its_number_and_engines_are_kept(cache):
    (_, engine), (_, cuda), _ = choose_providers("cuda:3", JETSON, "float32")
    assert engine["device_id"] == cuda["device_id"] == "3"
    assert engine["trt_engine_cache_path"] == str(cache)
    assert cache.is_dir()
    assert engine["trt_fp16_enable"] == "False"
    assert choose_providers("cuda", JETSON, "float16")[0][1]["trt_fp16_enable"] == "True"


def test_a_gpu_that_this_runtime_does_not_support_is_refused():
    with pytest.raises(
        InputError, match=r"^--device cuda:1: this ONNX Runtime has no GPU support; install onnxruntime"
    ):
        choose_providers("cuda:1", [CPU], "float32")


def test_a_gpu_that_is_supported_and_does_not_start_is_refused(monkeypatch):
    # This runtime says that it can, and then computes on the CPU: as one does whose CUDA is missing.
    monkeypatch.setattr("tmapr.perception.onnx.choose_providers", lambda *_: [(CPU, {})])
    with pytest.raises(
        InputError, match=r"^--device cuda: ONNX Runtime has GPU support and could not start it; install"
    ):
        open_session(SHIPPED, "cuda")


@pytest.mark.parametrize(("installed", "needed"), [(True, True), (False, False)])
def test_without_torch_onnx_runtime_has_the_gpu(installed, needed, monkeypatch):
    monkeypatch.setattr("tmapr.perception.opening.find_spec", lambda _: object() if installed else None)
    assert needs_torch(Perception(), "cuda") is needed
    assert not needs_torch(Perception(), "cpu")


@pytest.mark.parametrize(
    ("device", "available", "precision"),
    [("cuda", JETSON, "float16"), ("cuda", [CUDA, CPU], "float32"), ("auto", JETSON, "float32")],
)
def test_only_tensorrt_gives_an_onnx_file_another_precision_than_its_own(device, available, precision, monkeypatch):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: available)
    assert choose_precision(Perception(encoder="mine.onnx"), device) == precision
