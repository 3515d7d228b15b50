"""What the trunks share: a map as tokens, first weights, and weights from a file in torchvision's layout."""

from pathlib import Path

from jaxtyping import Float
from torch import Tensor, nn, zeros

from tmapr.perception.encoder import Features
from tmapr.perception.weights import load_content, refuse_misfits

_CLASSIFIERS = ("fc.", "classifier.")
_COUNTER = "num_batches_tracked"


def to_features(maps: Float[Tensor, "images channels rows columns"]) -> Features:
    """Cells as tokens, row by row; their mean is the summary."""
    tokens = maps.flatten(2).transpose(1, 2)
    return Features(tokens, tokens.mean(dim=1), maps.shape[2], maps.shape[3])


def initialise(trunk: nn.Module) -> None:
    """The published first weights: He's normal distribution by what a kernel feeds; norms leave things as they are."""
    for part in trunk.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def load_weights(trunk: nn.Module, path: Path) -> None:
    """Fill a trunk from a file in torchvision's layout; anything that does not fit is refused."""
    given = {str(name): value for name, value in load_content(path).items() if isinstance(value, Tensor)}
    weights = {name: value for name, value in given.items() if not name.startswith(_CLASSIFIERS)}
    # Norms count batches, to no end as long as their momentum is fixed. Older files have no counts, newer ones have
    # those of another training: every count starts again.
    counts = {name: zeros(()) for name in trunk.state_dict() if name.endswith(_COUNTER)}
    refuse_misfits(path, trunk, weights | counts)
    trunk.load_state_dict(weights | counts, strict=True)
