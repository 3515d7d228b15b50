"""A client of the robot's graph, as a process that shares no code with what is tested: CDR by mcap-ros2-support.

Given an endpoint, the definitions of types (a file with JSON) and how it connects, it prints a JSON line for each token
that comes or goes and for each message under any topic's key.
"""

import json
import struct
import sys
import threading
from pathlib import Path

import zenoh
from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory

speaking = threading.Lock()
definitions = json.loads(Path(sys.argv[2]).read_text())
factory = DecoderFactory()
decoders = {
    kind: factory.decoder_for("cdr", Schema(number, data=text.encode(), encoding="ros2msg", name=kind))
    for number, (kind, text) in enumerate(definitions.items(), 1)
}


def plain(value):
    if hasattr(value, "__slots__"):
        return {name: plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if isinstance(value, (int, float, str, bool)) else list(value)


def say(**told):
    with speaking:  # tokens and messages come in threads of their own
        print(json.dumps(told), flush=True)


def hear(sample):
    _, *topic, spelt, digest = str(sample.key_expr).split("/")
    kind = spelt.replace("::dds_::", "/").replace("::", "/")[:-1]
    if kind not in decoders:
        return
    sequence, _, _, gid = struct.unpack("<qqB16s", sample.attachment.to_bytes())
    say(
        topic="/" + "/".join(topic),
        kind=kind,
        digest=digest,
        sequence=sequence,
        gid=gid.hex(),
        message=plain(decoders[kind](sample.payload.to_bytes())),
    )


def see(token):
    say(token=str(token.key_expr), alive=token.kind == zenoh.SampleKind.PUT)


config = zenoh.Config()
config.insert_json5("mode", json.dumps(sys.argv[3]))
config.insert_json5("connect/endpoints", json.dumps([sys.argv[1]]))
config.insert_json5("listen/endpoints", json.dumps({"peer": ["tcp/localhost:0"]}))
config.insert_json5("scouting/multicast/enabled", "false")
with zenoh.open(config) as session:
    subscriber = session.declare_subscriber("0/**", hear)
    tokens = session.liveliness().declare_subscriber("@ros2_lv/0/**", see, history=True)
    say(up=True)
    sys.stdin.read()
