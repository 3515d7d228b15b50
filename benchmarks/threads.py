"""So many threads for a process, whatever machine it runs on."""

import os
from collections.abc import Sequence


def limit_threads(count: int, cores: Sequence[int] = ()) -> None:
    """Before any network is opened: ONNX Runtime would count the machine's cores, not those that it is pinned to."""
    import cv2
    import onnxruntime

    there = os.sched_getaffinity(0)
    os.sched_setaffinity(0, there & set(cores) or there)
    cv2.setNumThreads(count)
    plain = onnxruntime.SessionOptions

    def make_options() -> onnxruntime.SessionOptions:
        options = plain()
        options.intra_op_num_threads = count
        return options

    onnxruntime.SessionOptions = make_options
