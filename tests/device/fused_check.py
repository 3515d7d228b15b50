"""A frame's steps, traced by torch's compiler as one graph each, give what they give step by step.

Run by a test in a process of its own: the checks of shapes that tests install are nothing that a compiler can trace.
`python fused_check.py inductor` compiles them, too.
"""

import sys

import torch

from device_world import World

world = World.make(700, 48, 20, 12, torch.device("cpu"))
plain, fused = world.recogniser(torch.float64), world.recogniser(torch.float64)
fused.fuse(sys.argv[1])
with torch.inference_mode():
    for query in world.queries:
        torch.testing.assert_close(fused.recognise(query).packed, plain.recognise(query).packed, rtol=1e-9, atol=1e-9)
