"""Recordings for the viewer, written by the sink and read back by Rerun's own reader."""

import numpy as np
from rerun.chunk import RrdReader

from tmapr.live.viewer.sink import open_view


def write(path, scene, answers):
    sink = open_view(str(path))
    sink.begin(scene)
    for answer in answers:
        sink.take(answer)
    sink.close()
    return Recorded(path)


class Recorded:
    """Every row of every entity, by the frame's number."""

    def __init__(self, path):
        self.reader = RrdReader(path)
        self.rows, self.static, self.stamps, self.texts = {}, {}, {}, []
        for chunk in self.reader.stream():
            batch = chunk.to_record_batch()
            columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
            held = self.static if chunk.is_static else self.rows.setdefault(chunk.entity_path, {})
            for row in range(batch.num_rows):
                values = {name: column[row] for name, column in columns.items()}
                if chunk.is_static:
                    held.setdefault(chunk.entity_path, {}).update(values)
                    continue
                assert set(chunk.timeline_names) == {"frame", "stamp"}
                held.setdefault(values["frame"], {}).update(values)
                self.texts += values.get("TextLog:text", [])
                self.stamps[values["frame"]] = batch.column("stamp")[row].value

    def at(self, path, frame, name):
        """The last value at a frame."""
        return self.rows[path][max(number for number in self.rows[path] if number <= frame)][name]

    @property
    def middle(self):
        return np.array(self.static["/__properties/map"]["middle"])
