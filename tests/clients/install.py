"""Installs what is not ours, once, into ignored folders of the project.

A stamp beside each installation says what it was made of; with another list, or another Python or
Node, it is made anew.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / "target" / "clients"


class Failed(Exception):
    """An installation that did not work, and what it printed."""


def python(name, requirements):
    """The interpreter of an environment of its own that has these requirements."""
    folder = FOLDER / name
    interpreter = folder / "bin" / "python"

    def install():
        _run(sys.executable, "-m", "venv", folder)
        pip = [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run(*pip, "--requirement", requirements)

    _once(folder, [sys.version, requirements.read_text()], install)
    return interpreter


def node(name, package):
    """The folder of modules that a package's lock file names."""
    folder = FOLDER / name
    files = [package / "package.json", package / "package-lock.json"]

    def install():
        folder.mkdir(parents=True)
        for file in files:
            shutil.copy(file, folder)
        _run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)

    version = _run("node", "--version")
    _once(folder, [version, *(file.read_text() for file in files)], install)
    return folder / "node_modules"


def _once(folder, made_of, install):
    stamp = folder / "installed"
    wanted = hashlib.sha256("\n".join(made_of).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    # What is installed may be told on standard output.
    print(f"installing {folder.name} into {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    install()
    stamp.write_text(wanted)


def _run(*command, cwd=None):
    command = [str(part) for part in command]
    try:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise Failed(f"'{command[0]}' is not installed") from None
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
