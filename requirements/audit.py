"""Ask an index for known vulnerabilities of what the make commands install; `make audit` runs it beside pip-audit.

Exit 0: none is known of those that the index knows; 1: there are some. What nobody answered for is counted.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def audit(pins: Path) -> int:
    """The number of known vulnerabilities of what a file pins."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--requirement", str(pins), "--disable-pip", "--format", "json",
         "--progress-spinner", "off"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        packages = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (asked.stderr.strip() or "no answer").splitlines()[-1]
        print(f"{pins.name}: no index could be asked for known vulnerabilities ({reason[:120]})")
        return 0
    answered = [package for package in packages if "skip_reason" not in package]
    found = [(package["name"], known["id"]) for package in answered for known in package["vulns"]]
    for name, identifier in found:
        print(f"{pins.name}: {name}: {identifier}")
    print(f"{pins.name}: {len(found)} known vulnerabilities; asked about {len(packages)}, answered for {len(answered)}")
    return len(found)


if __name__ == "__main__":
    sys.exit(1 if sum(audit(HERE / name) for name in ("demo.txt", "test.txt")) else 0)
