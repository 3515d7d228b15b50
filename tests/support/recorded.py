"""The walk along a wall of tests/walked.py in bags, for tests of recordings of several kinds."""

from bags import GPS, ODOMETRY, START, TENTH, THERMAL, fix, image, odometry, written
from walked import COUNT, view


def write_walk_bag(path, contrast=300, topics=(THERMAL,), positions=(ODOMETRY,), rows=range(COUNT)):
    """A ROS 1 bag (.bag), or the folder of a ROS 2 bag, with images and positions on some topics."""
    entries = []
    for row in rows:
        time = START + row * TENTH
        entries += [(topic, time, image(view(row, contrast))) for topic in topics]
        places = {ODOMETRY: odometry(2.0 * row, 5.0, 0.0), GPS: fix(127.0 + row * 2e-5, 36.3)}
        entries += [(topic, time, places[topic]) for topic in positions]
    path.parent.mkdir(parents=True, exist_ok=True)
    return written(path, "bag" if path.suffix == ".bag" else "mcap", entries)
