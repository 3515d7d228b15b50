"""The online half on an accelerator: the same numbers as the host's, by torch and Triton."""
