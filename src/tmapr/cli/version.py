"""`tmapr --version`: the first line is for scripts, the second for whoever reads a report of a fault."""

_NETWORKS = ("onnxruntime", "onnxruntime-gpu", "torch")


def describe_version() -> str:
    """The package's and Python's."""
    import platform
    from importlib.metadata import version

    return f"tmapr {version('tmapr')}, Python {platform.python_version()}"


def describe_installation() -> str:
    """The version, and what is there to run networks with; no network is imported for it."""
    import platform
    from importlib.metadata import version

    found = ", ".join(filter(None, map(_find, _NETWORKS))) or "neither onnxruntime nor torch"
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return f"tmapr {version('tmapr')}\n{system}; {found}; {_describe_cuda()}"


def _find(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def _describe_cuda() -> str:
    """What the driver says, if there is one."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
        count, release = ctypes.c_int(), ctypes.c_int()
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            return "no CUDA device"
        driver.cuDriverGetVersion(ctypes.byref(release))
    except (OSError, AttributeError):
        return "no CUDA"
    major, minor = divmod(release.value // 10, 100)
    return f"CUDA {major}.{minor} with {count.value} device{'' if count.value == 1 else 's'}"
