"""Networks for tests."""

import torch


def perturbed(module, seed=7):
    """All parameters moved, so that none is a one or a zero that hides a mistake."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return module.eval().requires_grad_(False)
