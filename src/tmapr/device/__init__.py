"""The frame's way on a GPU: the device backend, chosen by `--device`. The CPU's modules are its reference.

Torch, and Triton for what torch streams badly, live here and are imported by nobody else's import.

Nothing here reads a tensor on the host while a frame is worked on, and no shape depends on what a tensor holds: a frame
can be one CUDA graph.
"""
