"""The online half on an accelerator: what a frame needs after its picture arrived, as tensors that stay there.

The NumPy float64 rooms (places, retrieval, tracking) are the reference, and the default. Nothing here reads a tensor on
the host while a frame is worked on, and no shape depends on what a tensor holds: a frame is one CUDA graph.
"""
