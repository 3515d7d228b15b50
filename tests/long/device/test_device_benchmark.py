"""The benchmark of seeing on a device runs where there is none, and none of its parts fails."""

import json

from device_perception import main


def test_every_part_that_needs_no_gpu_is_measured(tmp_path, capsys):
    parts = ["pictures", "preparation", "graph", "eager float32", "float32"]
    main(["--device", "cpu", "--small", "--frames", "2", "--parts", *parts, "--out", str(tmp_path / "out.json")])
    found = json.loads((tmp_path / "out.json").read_text())
    assert not any("failed" in found[part] for part in parts)
    for way in ("torch", "chosen"):
        assert (found["pictures"][way]["differing"], found["pictures"][way]["faults_as_expected"]) == (0, True)
    assert found["graph"] == {"graph_and_call_apart": 0.0}
    assert found["float32"]["preparation"]["median_ms"] > 0
    assert "eager float32" in capsys.readouterr().out
