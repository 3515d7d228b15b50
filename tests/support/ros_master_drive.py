"""Our side of a ROS 1 graph, as a process: rospy can be used once in one, and has its own ways with logs and warnings.

Given a map it localizes what comes and publishes the answers; it prints a JSON line for each event of its source.
"""

import hashlib
import json
import sys
from pathlib import Path

import tmapr
from answered import HEALTH, TIMINGS
from tmapr.live.events import Answer, Scene, Start
from tmapr.live.ros1 import Ros1Node
from tmapr.live.topics import Subscribed, share

map_folder = Path(sys.argv[1])
localizer = tmapr.load(map_folder)
source, sink = share(Ros1Node(), Subscribed(**json.loads(sys.argv[2])))
sink.begin(Scene(localizer, map_folder, map_folder / "live", source.name))
for number, event in enumerate(source):
    if isinstance(event, Start):
        print(json.dumps({"position": event.position.tolist(), "deviation": event.deviation}), flush=True)
        continue
    counts = event.frame.image()
    estimate = localizer.step(event.frame)
    sink.take(Answer(number, event.frame, estimate, TIMINGS, event.odometry))
    told = {
        "stamp": event.frame.stamp,
        "counts": [str(counts.dtype), counts.shape, hashlib.sha256(counts.tobytes()).hexdigest()],
        "motion": event.frame.motion and event.frame.motion.numbers,
        "odometry": event.odometry,
        "refused": source.refused,
        "note": source.note,
    }
    print(json.dumps(told), flush=True)
    if number + 1 == int(sys.argv[3]):
        sink.report(HEALTH)
        source.close()
print(json.dumps({"ended": True}), flush=True)
sys.stdin.read()
sink.close()
