"""The start of every script: paths, and a restart with the Python that has the required packages."""

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FUNCTIONS = ["api", "sweeper", "executor", "archiver"]

sys.path[:0] = [str(HERE / "names"), str(HERE.parent / "clients")]
import sitecustomize  # noqa: F401, E402: resolves names below localhost
import install  # noqa: E402

try:
    TOOLS = install.python("aws", ROOT / "infra" / "tools" / "requirements.txt").parent
except install.Failed as error:
    sys.exit(f"FAIL: {error}")
if Path(sys.prefix) != TOOLS.parent:
    # Run the same script with the Python of the tools.
    os.execv(TOOLS / "python", [str(TOOLS / "python"), *sys.argv])


def environment():
    """The environment with the tools in PATH."""
    return {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}


@contextmanager
def part(name):
    """Prints how long a part took."""
    print(f"== {name}", flush=True)
    started = time.monotonic()
    yield
    print(f"== {name}: {time.monotonic() - started:.0f} s", flush=True)
