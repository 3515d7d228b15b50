"""Both heads for one image, from the tokens that `vit_layers` gives: descriptor and pose, in float32."""

import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from tmapr.device import head_kernels as kernels
from tmapr.device.network_parts import PoseParts, SaladParts
from tmapr.device.vit_layers import Activation, Cut, Tokens, add_normalise, expand, multiply, round_up, run_block

_LEAST_LENGTH = 1e-12
"""What `torch.nn.functional.normalize` divides by at least."""
_CUT = Cut(wide=64, deep=128, stages=3)
_CHANNELS, _AVERAGED, _ROWS, _READ = 32, 16, 4, 1024
"""What one program takes: channels of SALAD, columns of a mean, rows of a matrix and their numbers at a time."""


def describe(summary: Float[Tensor, " width"], patches: Tokens, parts: SaladParts) -> Float32[Tensor, "1 dim"]:
    """SALAD's descriptor. Its first launch waits for all that was asked for: it may be on a stream of its own."""
    hidden = multiply(patches, *_read(parts.score[0]), "relu", cut=_CUT, chained=False)
    scores = multiply(hidden, *_read(parts.score[1]), cut=_CUT, dtype=torch.float32)
    local = multiply(multiply(patches, *_read(parts.cluster[0]), "relu", cut=_CUT), *_read(parts.cluster[1]), cut=_CUT)
    token = multiply_vector(multiply_vector(summary, parts.token[0], "relu"), parts.token[1])
    return _normalise_parts(token, aggregate(scores, local, parts.iterations))


def locate(patches: Tokens, parts: PoseParts) -> tuple[Float32[Tensor, "1 2"], Float32[Tensor, "1 2"]]:
    """Position and heading. The last layer's end is linear, so it is computed of the mean over the patches."""
    *blocks, last = parts.blocks
    stream = add_normalise(patches, None, parts.blocks[0].norm1)
    for block, after in zip(blocks, parts.blocks[1:], strict=True):
        stream = run_block(stream, block, after.norm1)
    stream, hidden = expand(stream, last)
    mean = multiply_vector(_average(hidden), last.contract, added=_average(stream.tokens))
    pose = _tell_pose(multiply_vector(mean, parts.shared, "gelu"), parts)
    return pose[:, :2], pose[:, 2:]


def _read(layer: nn.Linear) -> tuple[Tensor, Tensor]:
    return layer.weight, layer.bias


def multiply_vector(
    given: Float[Tensor, " depth"],
    layer: nn.Linear,
    activation: Activation = "none",
    added: Float32[Tensor, " width"] | None = None,
) -> Float32[Tensor, " width"]:
    """A layer of one vector, in float32 whatever its weights are."""
    found = torch.empty(layer.out_features, device=given.device)
    kernels.multiply_vector[(-(-layer.out_features // _ROWS),)](
        given,
        layer.weight,
        layer.bias,
        added,
        found,
        WIDTH=layer.out_features,
        DEPTH=layer.in_features,
        ACTIVATION=activation,
        TALL=_ROWS,
        DEEP=min(_READ, round_up(layer.in_features)),
        CHAINED=given.is_cuda,
        launch_pdl=given.is_cuda,
    )
    return found


def _average(given: Float[Tensor, "tokens width"]) -> Float32[Tensor, " width"]:
    rows, width = given.shape
    found = torch.empty(width, device=given.device)
    kernels.average[(-(-width // _AVERAGED),)](
        *(given, found, rows),
        WIDTH=width,
        TALL=round_up(rows),
        WIDE=_AVERAGED,
        CHAINED=given.is_cuda,
        launch_pdl=given.is_cuda,
    )
    return found


def aggregate(
    scores: Float32[Tensor, "patches clusters"], local: Float[Tensor, "patches channels"], iterations: int
) -> Float32[Tensor, "channels clusters"]:
    """The sums over the patches that an optimal transport to the clusters gives."""
    (patches, clusters), channels = scores.shape, local.shape[1]
    sums = torch.empty(channels, clusters, device=scores.device)
    kernels.aggregate[(-(-channels // _CHANNELS),)](
        *(scores, local, sums, patches),
        CLUSTERS=clusters,
        CHANNELS=channels,
        ITERATIONS=iterations,
        PATCHES_UP=round_up(patches),
        CLUSTERS_UP=round_up(clusters),
        WIDE=_CHANNELS,
        CHAINED=scores.is_cuda,
        num_warps=8,
        launch_pdl=scores.is_cuda,
    )
    return sums


def _normalise_parts(
    token: Float32[Tensor, " token"], sums: Float32[Tensor, "channels clusters"]
) -> Float32[Tensor, "1 dim"]:
    channels, clusters = sums.shape
    descriptor = torch.empty(1, len(token) + sums.numel(), device=sums.device)
    kernels.normalise_parts[(1,)](
        *(token, sums, descriptor, _LEAST_LENGTH),
        TOKEN=len(token),
        TOKEN_UP=round_up(len(token)),
        CLUSTERS=clusters,
        CHANNELS=channels,
        CLUSTERS_UP=round_up(clusters),
        CHANNELS_UP=round_up(channels),
        CHAINED=sums.is_cuda,
        num_warps=8,
        launch_pdl=sums.is_cuda,
    )
    return descriptor


def _tell_pose(shared: Float32[Tensor, " hidden"], parts: PoseParts) -> Float32[Tensor, "1 4"]:
    pose = torch.empty(1, 4, device=shared.device)
    kernels.tell_pose[(1,)](
        *(shared, *_read(parts.position), *_read(parts.heading), pose, _LEAST_LENGTH),
        DEPTH=len(shared),
        DEPTH_UP=round_up(len(shared)),
        CHAINED=shared.is_cuda,
        launch_pdl=shared.is_cuda,
    )
    return pose


def scale_rows(
    descriptors: Float32[Tensor, "images dim"], least: float, *, warps: int = 16
) -> Float32[Tensor, "images dim"]:
    """Each row to length 1 in float64, or divided by `least` if it is shorter."""
    images, dim = descriptors.shape
    found = torch.empty_like(descriptors)
    kernels.scale_row[(images,)](
        *(descriptors, found, least), WIDTH=dim, WIDTH_UP=round_up(dim), CHAINED=False, num_warps=warps
    )
    return found
