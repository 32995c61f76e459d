"""Installs packages of others, once, into ignored folders of the project.

A stamp in each installation is a hash of its requirements. If the requirements change, or the
version of Python or Node does, the installation is made again.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / "target" / "clients"


class Failed(Exception):
    """A failed installation, with the output of its command."""


def python(name, requirements):
    """Installs requirements into a virtual environment, and returns its interpreter."""
    folder = FOLDER / name
    interpreter = folder / "bin" / "python"

    def install():
        _run(sys.executable, "-m", "venv", "--without-pip", folder)
        pip = [_pip(), "--python", interpreter, "install", "--quiet", "--disable-pip-version-check"]
        _run(*pip, "--requirement", requirements)

    _once(folder, [sys.version, requirements.read_text()], install)
    return interpreter


def _pip():
    """The pip of all environments: to install one into each would take seconds."""
    folder = FOLDER / "pip"
    _once(folder, [sys.version], lambda: _run(sys.executable, "-m", "venv", folder))
    return folder / "bin" / "pip"


def node(name, package):
    """Installs the modules in a package's lock file, and returns their folder."""
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


def rust(name, package):
    """Builds a program of Rust of this name with its lock file, and returns it."""
    folder = FOLDER / name
    files = [package / "Cargo.toml", package / "Cargo.lock", package / "src" / "main.rs"]
    binary = folder / name

    def build():
        target = folder / "target"
        build = ["cargo", "build", "--quiet", "--locked", "--target-dir", target]
        _run(*build, "--manifest-path", files[0])
        shutil.move(target / "debug" / name, binary)
        # What it was built of is large.
        shutil.rmtree(target)

    version = _run("cargo", "--version")
    _once(folder, [version, *(file.read_text() for file in files)], build)
    return binary


def debian(package):
    """Unpacks a package of Debian, and returns its root. It is not installed: no service starts."""
    folder = FOLDER / f"debian-{package}"
    download = ["apt-get", "download", "-qq", package]

    def unpack():
        folder.mkdir(parents=True)
        try:
            _run(*download, cwd=folder)
        except Failed:
            # The lists of packages are missing, or name a version that is gone.
            _run("apt-get", "update", "-qq")
            _run(*download, cwd=folder)
        for archive in folder.glob("*.deb"):
            _run("dpkg", "--extract", archive, folder)
            archive.unlink()

    _once(folder, [package], unpack)
    return folder


def management_certificate(name):
    """Makes a certificate that signs itself, and returns its file, which has the key as well. The file
    `certificates` beside it has its thumbprint, as `serve --management-certificates` reads it."""
    folder = FOLDER / name
    pem, key = folder / "client.pem", folder / "key.pem"

    def make():
        folder.mkdir(parents=True)
        names = ["-subj", "/CN=Management certificate", "-days", "3650"]
        _run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", pem, *names)
        thumbprint = _run("openssl", "x509", "-in", pem, "-noout", "-fingerprint", "-sha1")
        (folder / "certificates").write_text(thumbprint)
        pem.write_text(pem.read_text() + key.read_text())

    _once(folder, ["rsa:2048"], make)
    return pem


def _once(folder, requirements, install):
    stamp = folder / "installed"
    wanted = hashlib.sha256("\n".join(requirements).encode()).hexdigest()
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Suites that run at the same time may want the same.
    with (FOLDER / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        # Standard output is left to the results of the caller.
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
