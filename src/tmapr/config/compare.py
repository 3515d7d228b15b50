"""What differs between two dumps of settings, for the message that refuses one of them."""


def differences(old: object, new: object, path: str) -> list[str]:
    """One entry for each value that differs, named by its place in the tree."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [line for key in new for line in differences(old[key], new[key], f"{path}.{key}")]
    return [] if old == new else [f"{path} = {old} (now {new})"]
