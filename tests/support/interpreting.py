"""What checks of Triton's kernels share: where they run, and an interpreter that NumPy agrees with."""

import pytest
import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="module")
def numbers_as_numpy_has_them():
    """Interpreted, Triton 3.6 makes an index of an array of one number in a way that NumPy 2.4 refuses."""
    if DEVICE.type == "cuda":
        yield
        return
    from triton.runtime import interpreter

    usual = interpreter._patch_lang_tensor

    def patch(tensor, scope):
        usual(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = patch
    yield
    interpreter._patch_lang_tensor = usual
