"""The trunk of ResNet-34 (He et al., 2016) with torchvision's parameter names, to be trained."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, relu

from tmapr.baselines.trunk import initialise, to_features
from tmapr.perception.encoder import Features

CHANNELS = (64, 128, 256, 512)
"""Of the maps after layers 1 to 4, which have strides 4, 8, 16 and 32."""


class ResNet34(nn.Module):
    """3, 4, 6 and 3 blocks; pictures become maps that are ⌈side / 32⌉ cells high and wide in the end."""

    channels = CHANNELS[-1]

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, CHANNELS[0], 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(CHANNELS[0])
        self.layer1 = _build_layer(CHANNELS[0], CHANNELS[0], blocks=3, stride=1)
        self.layer2 = _build_layer(CHANNELS[0], CHANNELS[1], blocks=4, stride=2)
        self.layer3 = _build_layer(CHANNELS[1], CHANNELS[2], blocks=6, stride=2)
        self.layer4 = _build_layer(CHANNELS[2], CHANNELS[3], blocks=3, stride=2)
        initialise(self)

    def forward(self, images: Float[Tensor, "images 3 height width"]) -> Features:
        """The last map."""
        return self.levels(images)[-1]

    def levels(self, images: Float[Tensor, "images 3 height width"]) -> tuple[Features, ...]:
        """The maps after layers 1 to 4."""
        maps = max_pool2d(relu(self.bn1(self.conv1(images))), 3, stride=2, padding=1)
        found = []
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            maps = layer(maps)
            found.append(to_features(maps))
        return tuple(found)


class _BasicBlock(nn.Module):
    """Two 3 × 3 convolutions beside a way that leaves the map alone, or only brings it to the new size."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        same = stride == 1 and inputs == outputs
        resized = (nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))
        self.downsample = nn.Identity() if same else nn.Sequential(*resized)

    def forward(self, maps: Float[Tensor, "images inputs _ _"]) -> Float[Tensor, "images outputs _ _"]:
        inner = relu(self.bn1(self.conv1(maps)))
        return relu(self.bn2(self.conv2(inner)) + self.downsample(maps))


def _build_layer(inputs: int, outputs: int, *, blocks: int, stride: int) -> nn.Sequential:
    first = _BasicBlock(inputs, outputs, stride)
    return nn.Sequential(first, *(_BasicBlock(outputs, outputs, 1) for _ in range(blocks - 1)))
