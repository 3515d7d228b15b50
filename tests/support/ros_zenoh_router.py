"""A zenoh router as a process of its own, as a robot runs rmw_zenohd."""

import json
import sys
import time

import zenoh

config = zenoh.Config()
config.insert_json5("mode", '"router"')
config.insert_json5("listen/endpoints", json.dumps([sys.argv[1]]))
config.insert_json5("scouting/multicast/enabled", "false")
with zenoh.open(config):
    print("up", flush=True)
    while True:
        time.sleep(1)
