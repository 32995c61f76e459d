"""What the container image is made of, and the program that builds it.

The binary is linked dynamically with the C library, as a static one could not resolve names in an
empty root. So its libraries go into the image, from the machine that built it: the paths in the image
are the paths there.
"""

import io
import os
import platform
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()

# The user in the image, and the owner of its data.
USER = 65532
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# What the C library reads to find users and hosts.
TEXTS = {
    "etc/passwd": f"root:x:0:0:root:/:/none\nminutehand:x:{USER}:{USER}:Minutehand:/data:/none\n",
    "etc/group": f"root:x:0:\nminutehand:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]
# Debian's packages of which the image has files. Their licences ask for their notice beside them.
PACKAGES = ["ca-certificates", "libc6", "libgcc-s1"]
# The names that container tools have for what Python calls a machine.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Failed(Exception):
    """The image cannot be built, and why."""


def architecture():
    machine = platform.machine()
    if platform.system() != "Linux" or machine not in ARCHITECTURES:
        raise Failed(f"an image is built on Linux for x86_64 or arm64, not on {machine}")
    return ARCHITECTURES[machine]


def write_context(binary, folder):
    """Writes the files that the image is built from into a folder: a Dockerfile and an archive."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "Dockerfile", folder)
    with tarfile.open(folder / f"{architecture()}.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        for file in libraries(binary):
            add(archive, file, str(file))
        add(archive, binary, "minutehand", 0o755)
        if not CERTIFICATES.exists():
            raise Failed(f"there is no {CERTIFICATES}: install the package ca-certificates")
        add(archive, CERTIFICATES, str(CERTIFICATES))
        for name, text in TEXTS.items():
            add_text(archive, name, text)
        for name in LICENSES:
            add(archive, ROOT / name, f"usr/share/doc/minutehand/{name}")
        for package in PACKAGES:
            notice = Path("/usr/share/doc") / package / "copyright"
            if notice.exists():
                add(archive, notice, str(notice))
        add_folder(archive, "data", 0o700, USER)
        # SQLite may write temporary files.
        add_folder(archive, "tmp", 0o1777)
    return folder


def libraries(binary):
    """The shared libraries of a binary, the loader among them."""
    listed = run("ldd", binary)
    missing = re.findall(r"(\S+) => not found", listed)
    if missing:
        raise Failed(f"{binary} needs {', '.join(missing)}, which this machine does not have")
    paths = re.findall(r"(?:=> |^\s*)(/\S+) \(0x", listed, re.MULTILINE)
    if not paths:
        raise Failed(f"{binary} names no libraries: the image is for a binary linked with glibc")
    return sorted({Path(path) for path in paths})


def add(archive, source, name, mode=None):
    """Adds a file as the root user's, with a fixed time: the same files make the same archive."""
    content = source.read_bytes()
    executable = 0o755 if os.access(source, os.X_OK) else 0o644
    add_content(archive, name.lstrip("/"), content, mode or executable)


def add_text(archive, name, text):
    add_content(archive, name, text.encode(), 0o644)


def add_content(archive, name, content, mode):
    for parent in reversed(Path(name).parents):
        if parent != Path() and str(parent) not in archive.getnames():
            add_folder(archive, str(parent), 0o755)
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def add_folder(archive, name, mode, owner=0):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, owner, owner
    archive.addfile(entry)


class Buildah:
    """Debian's program that builds images, with a storage of its own that needs no service."""

    def __init__(self, storage):
        self.storage = Path(storage)

    def __call__(self, *arguments):
        places = ["--root", self.storage / "images", "--runroot", self.storage / "run"]
        return run("buildah", *places, "--storage-driver", "vfs", *arguments).strip()

    def build(self, context, name):
        # Only images of this format have a health check.
        which = ["--format", "docker", "--isolation", "chroot"]
        told = ["--build-arg", f"TARGETARCH={architecture()}", "--timestamp", "0"]
        self("build", "--quiet", *which, *told, "--tag", name, context)


def install_buildah():
    """Installs buildah if it is missing; the reason if that is not possible."""
    if shutil.which("buildah"):
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "buildah is not installed; `make tools` installs it"
    print("installing buildah", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", "-qq", env=quiet)
    run("apt-get", "install", "-qq", "--no-install-recommends", "buildah", env=quiet)
    return None


def run(*command, env=None):
    """Runs a program to its end; what it printed on standard output."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env
        )
    except FileNotFoundError:
        raise Failed(f"'{command[0]}' is not installed") from None
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
