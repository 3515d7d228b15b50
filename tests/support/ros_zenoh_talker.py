"""A robot's camera and odometry on zenoh, as a process that shares no code with what is tested: CDR by `struct`.

Given an endpoint and how it connects, it reads one JSON object a line, `{"topic", "kind", "stamp": [sec, nanosec],
"skip", ...}` with what the kind needs, and answers each with a line once it was sent. Before the first message of a
topic it waits until somebody's token says that he listens to it; `skip` leaves out so many numbers, as messages that
were lost on the way do.
"""

import base64
import json
import os
import struct
import sys
import threading
import time

import numpy as np
import zenoh


class Cdr:
    """Little-endian, each value aligned to its size behind the four bytes of the header."""

    def __init__(self):
        self.body = b""

    def put(self, code, *values):
        for value in values:
            size = struct.calcsize(code)
            self.body += b"\0" * (-len(self.body) % size) + struct.pack("<" + code, value)
        return self

    def text(self, value):
        raw = value.encode() + b"\0"
        self.put("I", len(raw)).body += raw
        return self

    def blob(self, raw):
        self.put("I", len(raw)).body += raw
        return self

    def finish(self):
        return b"\x00\x01\x00\x00" + self.body


def header(given):
    return Cdr().put("i", given["stamp"][0]).put("I", given["stamp"][1]).text(given.get("frame", "camera"))


def image(given):
    """Its pixels, or a generator's seed for 16-bit ones."""
    shape, encoding = given["shape"], given.get("encoding", "mono16")
    if "data" in given:
        pixels = base64.b64decode(given["data"])
    else:
        pixels = np.random.default_rng(given["seed"]).integers(0, 2**16, shape, dtype=np.uint16).tobytes()
    body = header(given).put("I", *shape).text(encoding).put("B", 0).put("I", len(pixels) // shape[0])
    return body.blob(pixels).finish()


def odometry(given):
    pose = [*given["position"], 0.0, *given["turn"]]
    twist = [given["speed"], 0.0, 0.0, 0.0, 0.0, given["yaw_rate"]]
    return header(given).text("base_link").put("d", *pose, *[0.0] * 36, *twist, *[0.0] * 36).finish()


def imu(given):
    rates = [0.0, 0.0, given["yaw_rate"]]
    return header(given).put("d", 0.0, 0.0, 0.0, 1.0, *[0.0] * 9, *rates, *[0.0] * 9, *[0.0] * 3, *[0.0] * 9).finish()


def start(given):
    pose = [*given["position"], 0.0, 0.0, 0.0, 0.0, 1.0]
    return header(given).put("d", *pose, *np.array(given["covariance"], dtype=float).ravel().tolist()).finish()


def garbage(given):
    return os.urandom(given["bytes"])


KINDS = {
    "image": ("sensor_msgs::msg::dds_::Image_", image),
    "odometry": ("nav_msgs::msg::dds_::Odometry_", odometry),
    "imu": ("sensor_msgs::msg::dds_::Imu_", imu),
    "start": ("geometry_msgs::msg::dds_::PoseWithCovarianceStamped_", start),
    "garbage": ("sensor_msgs::msg::dds_::Image_", garbage),
    "cloud": ("sensor_msgs::msg::dds_::PointCloud2_", garbage),
}


class Topic:
    def __init__(self, session, topic, spelt, number, digest):
        self.gid, self.sequence = os.urandom(16), 0
        key = f"0{topic}/{spelt}/{digest}"
        self.publisher = session.declare_publisher(
            key, congestion_control=zenoh.CongestionControl.BLOCK, reliability=zenoh.Reliability.RELIABLE
        )
        mangled = topic.replace("/", "%")
        whoever = f"@ros2_lv/0/*/*/*/MS/*/*/*/{mangled}/{spelt}/{digest}/*"
        listened = threading.Event()
        self.listeners = session.liveliness().declare_subscriber(whoever, lambda _: listened.set(), history=True)
        own = f"@ros2_lv/0/{session.info.zid()}/0/{number}/MP/%/%/camera/{mangled}/{spelt}/{digest}/::,10:,:,:,,"
        self.token = session.liveliness().declare_token(own)
        if not listened.wait(60):
            sys.exit(f"nobody listens to {topic}")

    def send(self, raw, skip):
        self.sequence += 1 + skip
        attachment = struct.pack("<qqB16s", self.sequence, time.time_ns(), 16, self.gid)
        self.publisher.put(raw, attachment=attachment)


def main():
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(sys.argv[2]))
    config.insert_json5("connect/endpoints", json.dumps([sys.argv[1]]))
    config.insert_json5("listen/endpoints", json.dumps({"peer": ["tcp/localhost:0"]}))
    config.insert_json5("scouting/multicast/enabled", "false")
    topics = {}
    with zenoh.open(config) as session:
        for line in sys.stdin:
            given = json.loads(line)
            spelt, pack = KINDS[given["kind"]]
            key = given["topic"], spelt
            if key not in topics:
                digest = given.get("digest", f"RIHS01_{'0123456789abcdef' * 4}")
                topics[key] = Topic(session, given["topic"], spelt, len(topics) + 1, digest)
            topics[key].send(pack(given), given.get("skip", 0))
            print("sent", flush=True)


main()
