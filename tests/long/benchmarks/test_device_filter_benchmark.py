"""The benchmark of the route filter on a device runs small, without one."""

import json

from device_filter import main


def test_every_part_is_measured_and_none_fails(tmp_path):
    out = tmp_path / "found.json"
    main(["--device", "cpu", "--references", "300", "--places", "9", "--rounds", "2", "--out", str(out)])
    found = json.loads(out.read_text())
    parts = {name: part for name, part in found.items() if isinstance(part, dict)}
    assert {"apart from the host", "motion", "predict", "update", "find_peak", "frame", "telling"} <= parts.keys()
    assert not [name for name, part in parts.items() if "failed" in part]
    assert found["apart from the host"]["mass"] == 0.0
    assert found["frame"]["launches"] > found["motion"]["launches"] > 0
