"""A frame's way on a GPU that is not there: every kernel is compiled for it as it would be launched, and none is.

    python tests/device/dry_run.py REFERENCES WIDTH

A kernel is compiled anew for each kind of number it is given (whether an address or a size is divisible by 16, whether
a number is 1), and may fail to compile for some that no small test gives it. Tensors are on the CPU, and hold anything.
"""

import sys

import numpy as np
import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

COMPILED: set[str] = set()


class NoGpu:
    """A driver that knows what would be there."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, *_):
        return 0

    def get_active_torch_device(self):
        return torch.device("cpu")


def compile_instead(run):
    def compile_only(kernel, *given, grid, warmup, **options):
        run(kernel, *given, grid=grid, warmup=True, **options)
        COMPILED.add(f"{kernel.fn.__module__.rpartition('.')[2]}.{kernel.fn.__name__}")

    return compile_only


def choose_kernels():
    """Wherever the package would ask whether there is a GPU."""
    from tmapr.device import (
        condition,
        fused_network,
        fused_preparation,
        fused_views,
        memory,
        perceiving,
        places,
        placing,
        prepared,
        recognition,
        ridge,
        triangle,
    )

    triangle.runs_kernels = lambda device: True
    for module in (condition, fused_network, memory, perceiving, places, prepared, recognition, ridge):
        if "runs_kernels" in vars(module):
            module.runs_kernels = triangle.runs_kernels
    placing.choose_views = fused_views.FusedViewFilter
    return lambda *given: fused_preparation.FusedPreparation(*given[:-1])


def take_the_way(references, width):
    prepare = choose_kernels()
    from tmapr.device.backend import DeviceBackend
    from tmapr.device.perceiving import DeviceEye
    from tmapr.experiment import read_experiment
    from tmapr.latency.random_vit import make_random_network
    from tmapr.latency.workload import invent_images, invent_map
    from tmapr.system import build

    cell = max(15.0, 2.0 * references / 125)
    settings = read_experiment(None, ["places.projection.kind=identity", f"places.cell={cell}"])
    environment = invent_map(settings.system, references, width, lessons=4)
    network, _ = make_random_network(settings.perception)
    eye = DeviceEye(network, settings.perception.image, settings.perception.size, "cpu", torch.float16, prepare)
    localizer = build(settings.system, environment, backend=DeviceBackend("cpu"))
    way = DeviceBackend("cpu").begin_way(localizer.stages, localizer.memory, localizer.classifier)
    eye.launch([invent_images(1)[0]])
    way.drive.there.note(way.descriptor, way.descriptor.new_ones(()))
    way.placer.look(_look(way), way.placer.told)
    classifier = localizer.classifier
    place = torch.tensor([classifier.enter(np.zeros(2))])
    classifier.learn_observed(way.descriptor, place, classifier.observe(way.descriptor))
    classifier.ridge.flush()


def _look(way):
    from tmapr.device.placing import split_numbers
    from tmapr.device.views import Glimpse

    found = way.recogniser.recognise(way.descriptor)
    numbers = torch.tensor(way.placer.list_numbers(10**15, None, None))
    looks = way.descriptor, found.similarity, found.place, found.cosine, way.placer.local
    return Glimpse(*looks, *split_numbers(numbers))


if __name__ == "__main__":
    driver.set_active(NoGpu())
    JITFunction.run = compile_instead(JITFunction.run)
    with torch.inference_mode():
        take_the_way(*map(int, sys.argv[1:]))
    print(*sorted(COMPILED), sep="\n")
