"""Localize with descriptors of your own: arrays in, positions out, no images needed.

    python examples/1_own_descriptors.py

A traverse is stamps in integer nanoseconds, one descriptor per frame, and true positions where they are known.
"""

from tempfile import TemporaryDirectory

import numpy as np

import tmapr


def traverse(name: str, noise: float, rng: np.random.Generator) -> tmapr.Recording:
    # 1. Your own data goes here: 300 frames along a street, 15 per second, 0.5 m apart.
    stamps = 1_700_000_000_000_000_000 + np.arange(300, dtype=np.int64) * 66_666_667
    positions = np.stack([0.5 * np.arange(300.0), np.zeros(300)], axis=1)
    appearance = np.cos(positions[:, :1] * np.linspace(0.01, 0.6, 64) + np.arange(64))
    descriptors = appearance + noise * rng.normal(size=appearance.shape)
    return tmapr.Recording.from_arrays(name, stamps, descriptors, truth=positions)


def main() -> None:
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as directory:
        # 2. The reference traverse becomes a map. Another program takes it up with `tmapr.load(directory)`.
        localizer = tmapr.make_map(traverse("morning", 0.1, rng), directory)

        # 3. Localize another traverse, frame by frame.
        evening = traverse("evening", 0.3, rng)
        estimates = [localizer.observe(percept) for percept in evening.percepts]

        # 4. A surveyed position is a label, also when it comes late; then keep what was learned.
        localizer.learn(evening.percepts[10], evening.truth[10])
        localizer.save(directory)

    errors = np.linalg.norm([e.position for e in estimates] - evening.truth, axis=1)
    last = estimates[-1]
    print(f"{last.status}, {last.verdict.reason}, at {np.round(last.position, 1).tolist()}")
    print(f"median error {np.median(errors):.2f} m over {len(errors)} frames")


if __name__ == "__main__":
    main()
