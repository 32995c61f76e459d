"""Processes: how they are started, what they use, and by which clock they run."""

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# Between two looks at the memory.
LOOK_SECONDS = 0.5
READY_SECONDS = 60
STOP_SECONDS = 20


# What was started, so that a run that is ended leaves nothing behind.
STARTED = []


class Unavailable(Exception):
    """Why a peer cannot run here, in one line."""


class Clock:
    """The clock of a peer and its store: the system's, or one that libfaketime moves. A stopwatch never moves."""

    def __init__(self, library=None, folder=None, offset=0):
        self.offset = offset
        self.file = None
        self.environment = {}
        if library:
            folder.mkdir()
            # Beside the file, for servers that run as another user.
            copy = shutil.copy(library, folder)
            self.file = folder / "offset"
            self.move(offset)
            self.environment = {
                "LD_PRELOAD": str(copy),
                "FAKETIME_TIMESTAMP_FILE": str(self.file),
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "DONT_FAKE_MONOTONIC": "1",
            }

    def move(self, offset):
        self.offset = offset
        # In one step: a reader never finds it empty.
        written = self.file.with_suffix(".new")
        written.write_text(f"{offset:+.3f}\n")
        written.chmod(0o644)
        written.rename(self.file)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def start(command, log, environment=None, user=None, **more):
    """Starts a process whose errors are in a log."""
    account = {"user": user, "group": user, "extra_groups": []} if user else {}
    with open(log, "ab") as errors:
        process = subprocess.Popen(
            [str(part) for part in command],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stderr=errors,
            **account,
            **more,
        )
    STARTED.append(process)
    return process


def end_all():
    """Ends what still runs, the newest first: a worker before its store."""
    for process in reversed(STARTED):
        if process.poll() is None:
            # PostgreSQL waits for its clients at SIGTERM, and not at this.
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def start_and_wait(command, log, wanted, environment=None):
    """Starts a process, and waits for a line of its output that says that it is ready. Returns the line too."""
    process = start(command, log, environment, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(READY_SECONDS, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            if wanted in line:
                # What it prints from now on is nobody's, and must not fill the pipe.
                threading.Thread(target=process.stdout.read, daemon=True).start()
                return process, line.strip()
    finally:
        timer.cancel()
    process.wait()
    raise Unavailable(last_line(log))


def run(command, log, environment=None, user=None, seconds=600):
    """Runs a command to its end, and returns its output."""
    try:
        process = start(command, log, environment, user, stdout=subprocess.PIPE, text=True)
        output, _ = process.communicate(timeout=seconds)
    except FileNotFoundError as error:
        raise Unavailable(f"{error.filename} is not installed") from None
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Unavailable(f"{Path(str(command[0])).name} took more than {seconds} s") from None
    if process.returncode != 0:
        raise Unavailable(last_line(log))
    return output


def last_line(log):
    """The line of a log that says most about its end: the last one that names an error."""
    lines = [line.strip() for line in Path(log).read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["it ended without a word"])[-1][:160]


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def trees(leaders):
    """The processes below the leaders, with them."""
    children = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            fields = stat(entry.name)
            if fields:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, left = [], list(leaders)
    while left:
        pid = left.pop()
        found.append(pid)
        left += children.get(pid, [])
    return found


def stat(pid):
    """The fields of /proc/PID/stat after the name; nothing once the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


def processor_seconds(leaders):
    """What the trees have used of processors, with children that have ended."""
    ticks = (sum(map(int, stat(pid)[11:15])) for pid in trees(leaders))
    return sum(ticks) / TICKS


def memory_bytes(leaders):
    """What the trees have in memory; pages that several of them share count once."""
    return sum(proportional(pid) for pid in trees(leaders))


def proportional(pid):
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


class Meter:
    """Measures workers and stores while it is entered: what they used of processors, and their largest memory."""

    def __init__(self, running):
        self.running = running
        self.processor = self.memory = (0.0, 0.0)
        self.ended = threading.Event()

    def used(self):
        workers, stores = self.running.leaders()
        return processor_seconds(workers) + self.running.used_by_dead, processor_seconds(stores)

    def __enter__(self):
        self.before = self.used()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        while not self.ended.wait(LOOK_SECONDS):
            self.look()

    def look(self):
        now = [memory_bytes(leaders) for leaders in self.running.leaders()]
        self.memory = tuple(map(max, self.memory, now))

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.look()
        self.processor = tuple(now - before for now, before in zip(self.used(), self.before))


def wait_until(what, is_true, seconds=READY_SECONDS):
    until = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > until:
            raise Unavailable(f"{what} is not there after {seconds} s")
        time.sleep(0.05)
