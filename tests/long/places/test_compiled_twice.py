"""What is compiled now and what is read back from numba's cache compute the same, to the last bit."""

import os
import subprocess
import sys

PROGRAM = """
import hashlib
import numpy as np
from tmapr.places.analytic import Ridge
rng = np.random.default_rng(7)
ridge = Ridge(200, 0.01, 21)
for _ in range(5):
    ridge.learn(rng.normal(size=(3, 200)), rng.normal(size=(3, 21)), rng.uniform(0.2, 1.0, 3), 0.9)
parts = [ridge.weights, ridge.covariance, np.array(ridge.leverage(rng.normal(size=200)))]
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def test_a_state_does_not_tell_whether_its_functions_were_compiled_or_read_back(tmp_path):
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=surroundings, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc"))
    assert told[0].stdout == told[1].stdout
