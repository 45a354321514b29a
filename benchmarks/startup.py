"""How long the command line and the package take to start.

    python benchmarks/startup.py --contracts 100 --repeats 5

Each line is a process of its own, in seconds of the CPU, the smallest of `--repeats`, and beside it what Python alone
takes, or Dagster alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from many_contracts import contract


def seconds(arguments: list[str], repeats: int) -> float:
    """The least CPU time of a Python process."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--contracts", type=int, default=100)
    parser.add_argument("--rules", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    root = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory() as temporary:
        for shape in ("narrow", "wide"):
            Path(temporary, shape).mkdir()
            for number in range(asked.contracts):
                text = contract(number, asked.rules, shape)
                Path(temporary, shape, f"t{number}.odcs.yaml").write_text(text, encoding="utf-8")
        command = ["-m", "contract_checks"]
        lines = {
            "Python alone": ["-c", "pass"],
            "import contract_checks": ["-c", "import contract_checks"],
            "contract-checks --help": [*command, "--help"],
            "contract-checks lint, one contract": [*command, "lint", str(Path(temporary, "narrow", "t0.odcs.yaml"))],
            **{
                f"contract-checks lint, {asked.contracts} contracts, {shape}": [
                    *command,
                    "lint",
                    f"{temporary}/{shape}",
                ]
                for shape in ("narrow", "wide")
            },
            "import dagster": ["-c", "import dagster"],
            "from contract_checks import build_definitions": ["-c", "from contract_checks import build_definitions"],
        }
        for name, arguments in lines.items():
            print(f"{name:<48} {seconds(arguments, asked.repeats):6.3f} s", flush=True)


if __name__ == "__main__":
    main()
