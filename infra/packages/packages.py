"""What a release is published as, made of one binary: a wheel, two npm packages, a Debian package, an
archive, a Homebrew formula and an installer.

Every function writes one package into a folder. Nothing is downloaded, and a package holds the binary
itself: none fetches it when it is installed.
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
TEMPLATES = HERE / "templates"

SUMMARY = "Job scheduler: calls URLs and sends messages on a calendar, with retries and history"
LICENSE = "MIT OR Apache-2.0"
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]
# The oldest C library on which a release runs: that of Debian 10, RHEL 8 and Ubuntu 18.10.
GLIBC_MAX = (2, 28)
# What the page of a version in a registry links to, and where a release has its files.
REPOSITORY = os.environ.get("REPOSITORY") or "https://minutehand.invalid"
MAINTAINER = os.environ.get("MAINTAINER") or "The Minutehand authors <authors@minutehand.invalid>"
# How a wheel names the oldest macOS on which Rust's binaries run. That of Linux depends on the binary.
MACOS = {"arm64": "macosx_11_0_arm64", "x86_64": "macosx_10_12_x86_64"}

# The names of a kind of machine: Rust's, npm's for the system and the processor, Debian's.
Platform = namedtuple("Platform", "target os cpu debian")
PLATFORMS = {
    ("Linux", "x86_64"): Platform("x86_64-unknown-linux-gnu", "linux", "x64", "amd64"),
    ("Linux", "aarch64"): Platform("aarch64-unknown-linux-gnu", "linux", "arm64", "arm64"),
    ("Darwin", "arm64"): Platform("aarch64-apple-darwin", "darwin", "arm64", None),
    ("Darwin", "x86_64"): Platform("x86_64-apple-darwin", "darwin", "x64", None),
}


class Failed(Exception):
    """A package cannot be made, and why."""


class Release:
    """A version for this kind of machine, and the folder of its packages. `level` is that of gzip."""

    def __init__(self, binary, version, folder, level=9):
        self.binary, self.version, self.folder, self.level = Path(binary), version, Path(folder), level
        self.platform = this_platform()
        self.name = f"minutehand-{version}-{self.platform.target}"
        # Archives of one commit are the same, whenever they are made.
        self.time = int(os.environ.get("SOURCE_DATE_EPOCH") or committed_at() or binary.stat().st_mtime)

    def make(self):
        """Writes every package; returns their paths."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="minutehand-packages-") as scratch:
            stage = Path(scratch)
            install(self.binary, stage)
            made = [wheel(self), *npm(self), archive(self, stage)]
            if self.platform.debian:
                made.append(debian(self, stage))
        return made


def this_platform():
    machine = (platform.system(), platform.machine())
    if machine not in PLATFORMS:
        raise Failed(f"no package is made for {' on '.join(machine)}")
    return PLATFORMS[machine]


def manifest_version():
    found = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    return found[1]


def check_tag():
    """A tag in the environment has to be the version, before anything is built."""
    tag, version = os.environ.get("TAG"), manifest_version()
    if tag and tag != f"v{version}":
        raise Failed(f"the tag is {tag}, but Cargo.toml has version {version}: the tag has to be v{version}")


def committed_at():
    try:
        return run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    except Failed:
        return None


def glibc(binary):
    """The newest version of the C library of which a binary needs a symbol."""
    found = re.findall(rb"(?<=\0)GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", Path(binary).read_bytes())
    if not found:
        raise Failed(f"{binary} is not linked with glibc")
    return max((int(major), int(minor)) for major, minor in found)


def install(binary, root):
    """Puts the binary, its manual pages, completions and unit below `root`, as `make install` does."""
    settings = [f"BINARY={binary}", f"DESTDIR={root}", "PREFIX=/usr"]
    # Those of a `make` that runs this script are not for this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run("make", "-C", ROOT, "--no-print-directory", "install", *settings, env=environment)


def wheel(release):
    system, cpu = platform.system(), platform.machine()
    if system == "Linux":
        tag = "manylinux_{}_{}_".format(*glibc(release.binary)) + cpu
    else:
        tag = MACOS[cpu]
    info = f"minutehand-{release.version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: minutehand\nVersion: {release.version}\nSummary: {SUMMARY}\n"
        f"Project-URL: Source, {REPOSITORY}\nLicense-Expression: {LICENSE}\n"
        + "".join(f"License-File: {name}\n" for name in LICENSES)
        + f"Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{page()}"
    )
    files = {
        f"minutehand-{release.version}.data/scripts/minutehand": release.binary.read_bytes(),
        **{f"{info}/licenses/{name}": (ROOT / name).read_bytes() for name in LICENSES},
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: minutehand\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
        ).encode(),
    }
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.writerow([name, f"sha256={digest}", len(content)])
    rows.writerow([f"{info}/RECORD", "", ""])
    files[f"{info}/RECORD"] = record.getvalue().encode()
    path = release.folder / f"minutehand-{release.version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            wheel.writestr(entry, content, compresslevel=release.level)
    return path


def npm(release):
    """The package that everybody installs, and the one with the binary, of which npm takes the one that
    fits."""
    about = {"version": release.version, "license": LICENSE, "homepage": REPOSITORY}
    own, licenses = release.platform, {name: (ROOT / name).read_bytes() for name in LICENSES}
    names = {it: f"minutehand-{it.os}-{it.cpu}" for it in PLATFORMS.values()}
    main = {
        "name": "minutehand",
        **about,
        "description": SUMMARY,
        "bin": {"minutehand": "minutehand.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {name: release.version for name in names.values()},
    }
    binary = {
        "name": names[own],
        **about,
        "description": f"The binary of minutehand for {own.target}",
        "os": [own.os],
        "cpu": [own.cpu],
        **({"libc": ["glibc"]} if own.os == "linux" else {}),
        "preferUnplugged": True,
    }
    read_me = {"README.md": page().encode(), **licenses}
    launcher = (TEMPLATES / "minutehand.js").read_bytes()
    return [
        npm_package(release, main, {**read_me, "minutehand.js": launcher}, "minutehand.js"),
        npm_package(release, binary, {**licenses, "minutehand": release.binary.read_bytes()}, "minutehand"),
    ]


def npm_package(release, manifest, files, program):
    path = release.folder / f"{manifest['name']}-{release.version}.tgz"
    files = {"package.json": json.dumps(manifest, indent=2).encode(), **files}
    with packed(path, release) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime = len(content), release.time
            entry.mode = 0o755 if name == program else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return path


def archive(release, stage):
    """The archive for `cargo binstall`, Homebrew, the installer, and for those who have none of them."""
    folder = stage / "archive" / release.name
    share = stage / "usr/share"
    (folder / "man").mkdir(parents=True)
    (folder / "completions").mkdir()
    shutil.copy(release.binary, folder / "minutehand")
    for page_of_manual in share.glob("man/man1/*.1"):
        shutil.copy(page_of_manual, folder / "man")
    shutil.copy(share / "bash-completion/completions/minutehand", folder / "completions/minutehand.bash")
    shutil.copy(share / "zsh/site-functions/_minutehand", folder / "completions/_minutehand")
    shutil.copy(share / "fish/vendor_completions.d/minutehand.fish", folder / "completions/minutehand.fish")
    for name in ["README.md", "CHANGELOG.md", *LICENSES]:
        shutil.copy(ROOT / name, folder)
    if platform.system() == "Linux":
        shutil.copy(ROOT / "infra/systemd/minutehand.service", folder)
    path = release.folder / f"{release.name}.tar.gz"

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = release.time
        return entry

    with packed(path, release) as packing:
        packing.add(folder, release.name, filter=plain)
    shutil.rmtree(stage / "archive")
    return path


class packed:
    """A tar file in gzip, with the time of the release in the place of now."""

    def __init__(self, path, release):
        self.file = open(path, "wb")
        self.gzip = gzip.GzipFile("", "wb", release.level, self.file, release.time)
        self.tar = tarfile.open(fileobj=self.gzip, mode="w", format=tarfile.USTAR_FORMAT)

    def __enter__(self):
        return self.tar

    def __exit__(self, *_):
        self.tar.close()
        self.gzip.close()
        self.file.close()


def debian(release, stage):
    """The Debian package, of what `make install` has put below `stage`."""
    templates, version = TEMPLATES / "debian", f"{release.version}-1"
    values = {"VERSION": version, "ARCHITECTURE": release.platform.debian, "MAINTAINER": MAINTAINER,
              "HOMEPAGE": REPOSITORY, "GLIBC": "{}.{}".format(*glibc(release.binary)),
              "DATE": run("date", "--utc", "--rfc-email", f"--date=@{release.time}").strip()}
    # This unit has a user that the package makes. So its files stay those of one user, whoever looks.
    unit = stage / "usr/lib/systemd/system/minutehand.service"
    text = unit.read_text()
    for line, replaced in [
        ("under a dynamic user that owns only its data directory", "as the user minutehand"),
        ("# `make install` sets the path of the program in ExecStart, and makes /etc/minutehand, which only root\n"
         "# can read. To change the options, create /etc/minutehand/environment (owner root, mode 0600):\n",
         "# To change the options, edit /etc/minutehand/environment:\n"),
        ("DynamicUser=yes\n", "User=minutehand\nGroup=minutehand\n"),
    ]:
        if line not in text:
            raise Failed(f"infra/systemd/minutehand.service has no line {line!r}")
        text = text.replace(line, replaced)
    unit.unlink()
    put(stage / "lib/systemd/system/minutehand.service", text)
    shutil.rmtree(stage / "usr/lib")
    settings = stage / "etc/minutehand/environment"
    put(settings, (templates / "environment").read_text(), 0o600)
    zsh = stage / "usr/share/zsh"
    (zsh / "site-functions").rename(zsh / "vendor-completions")
    documents = stage / "usr/share/doc/minutehand"
    put(documents / "copyright", (templates / "copyright").read_text() + debian_text(ROOT / "LICENSE-MIT"))
    compress(documents / "changelog.gz", (ROOT / "CHANGELOG.md").read_bytes())
    compress(documents / "changelog.Debian.gz", filled(templates / "changelog", values).encode())
    put(stage / "usr/share/lintian/overrides/minutehand", (templates / "lintian-overrides").read_text())
    for manual in (stage / "usr/share/man/man1").glob("*.1"):
        compress(manual.with_name(f"{manual.name}.gz"), manual.read_bytes())
        manual.unlink()
    size = sum(path.lstat().st_size for path in stage.rglob("*") if path.is_file()) // 1024
    put(stage / "DEBIAN/control", filled(templates / "control", {**values, "SIZE": size}))
    put(stage / "DEBIAN/conffiles", "/etc/minutehand/environment\n")
    for script in ("postinst", "prerm", "postrm"):
        put(stage / "DEBIAN" / script, (templates / script).read_text(), 0o755)
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(stage)}\n"
            for path in sorted(stage.rglob("*"))
            if path.is_file() and path.relative_to(stage).parts[0] not in ("DEBIAN", "etc")]
    put(stage / "DEBIAN/md5sums", "".join(sums))
    for folder in [stage, *filter(Path.is_dir, stage.rglob("*"))]:
        folder.chmod(0o755)
    settings.parent.chmod(0o700)
    path = release.folder / f"minutehand_{version}_{release.platform.debian}.deb"
    kind = ["-Zxz", "-z6"] if release.level == 9 else ["-Zgzip", "-z1"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.time)}
    run("dpkg-deb", "--root-owner-group", *kind, "--build", stage, path, env=environment)
    return path


def debian_text(license_file):
    """What a licence says after its title and its copyright, as a field of a Debian file."""
    lines = license_file.read_text().split("\n\n", 2)[2].strip().split("\n")
    return "".join(f" {line or '.'}\n" for line in lines)


def join(folder, version):
    """Writes what a release has once for all machines, from the archives in the folder."""
    archives = {path.name[len(f"minutehand-{version}-"):-len(".tar.gz")]: sha256(path)
                for path in sorted(folder.glob(f"minutehand-{version}-*.tar.gz"))}
    if not archives:
        raise Failed(f"{folder} has no archive of version {version}")
    values = {"VERSION": version, "REPOSITORY": REPOSITORY, "SUMMARY": SUMMARY}
    sums = "\n".join(f"        {target}) echo {digest} ;;" for target, digest in archives.items())
    installer = folder / "install.sh"
    put(installer, filled(TEMPLATES / "install.sh", {**values, "SUMS": sums}), 0o755)
    formula = folder / "minutehand.rb"
    put(formula, filled(TEMPLATES / "minutehand.rb", {**values, "URLS": formula_urls(archives, version)}))
    listed = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    put(folder / "SHA256SUMS", "".join(f"{sha256(path)}  {path.name}\n" for path in listed))
    return [installer, formula, folder / "SHA256SUMS"]


def formula_urls(archives, version):
    lines = []
    for system, word in [("macos", "apple"), ("linux", "linux")]:
        found = {target: digest for target, digest in archives.items() if word in target}
        if not found:
            continue
        lines.append(f"  on_{system} do")
        for target, digest in found.items():
            cpu = "arm" if target.startswith("aarch64") else "intel"
            url = f"{REPOSITORY}/releases/download/v{version}/minutehand-{version}-{target}.tar.gz"
            lines += [f"    on_{cpu} do", f'      url "{url}"', f'      sha256 "{digest}"', "    end"]
        lines.append("  end")
    return "\n".join(lines)


def page():
    return (TEMPLATES / "page.md").read_text()


def filled(template, values):
    """A template with its values, which are in it as @NAME@."""
    return re.sub("@([A-Z]+)@", lambda found: str(values[found[1]]), template.read_text())


def put(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def compress(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0))
    path.chmod(0o644)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*command, env=None, cwd=None):
    """Runs a program to its end; what it printed on standard output."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, cwd=cwd
        )
    except FileNotFoundError:
        raise Failed(f"'{command[0]}' is not installed; `make tools` installs what is needed") from None
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
