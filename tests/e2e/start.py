"""What the scripts begin with: where things are, and the interpreter that has what they import."""

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FUNCTIONS = ["api", "sweeper", "executor"]

sys.path[:0] = [str(HERE / "names"), str(HERE.parent / "clients")]
import sitecustomize  # noqa: F401, E402: addresses below localhost
import install  # noqa: E402

try:
    TOOLS = install.python("aws", ROOT / "infra" / "tools" / "requirements.txt").parent
except install.Failed as error:
    sys.exit(f"FAIL: {error}")
if Path(sys.prefix) != TOOLS.parent:
    # The same once more, where the tools are.
    os.execv(TOOLS / "python", [str(TOOLS / "python"), *sys.argv])


def environment():
    """Ours, with the tools."""
    return {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}


@contextmanager
def part(name):
    """Says how long something took."""
    print(f"== {name}", flush=True)
    started = time.monotonic()
    yield
    print(f"== {name}: {time.monotonic() - started:.0f} s", flush=True)
