"""The benchmark of places on a device, small and on the CPU: every part is measured, and both ways agree."""

import json

import pytest

pytest.importorskip("torch")

import device_places


def test_every_part_is_measured(capsys):
    device_places.main(
        ["--device", "cpu", "--dimension", "48", "--places", "12", "--references", "300", "--rounds", "2"]
    )
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["kernels"].keys() == report["torch"].keys() == {"conclude", "learn", "note"}
    assert report["same_bits"]
