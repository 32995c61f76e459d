"""Clients of Healthchecks and lines of curl, as people have them, ping jobs that expect pings."""

import asyncio
import os
import subprocess
import uuid
from pathlib import Path

import aiohttp
import pytest
from healthchecks_io import AsyncClient, CheckNotFoundError, CheckTrap, Client
from pyhealthchecks.pyhealthchecks import HealthChecks

from jobs import Job

HERE = Path(__file__).resolve().parent
CURL = "curl -fsS -m 10 --retry 5 -o /dev/null"
WORK = "11111111-2222-4333-8444-555555555555"
KINDS = {"": "success", "/start": "start", "/fail": "fail", "/log": "log", "/0": "success", "/1": "fail", "/255": "fail"}


@pytest.fixture
def job(request):
    return Job(request.node.name.replace("[", "-").replace("]", "").replace("/", "-"))


def shell(line, **variables):
    """Runs a line of a crontab."""
    done = subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": os.environ["PATH"], **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ping(url, *options):
    """The status, the type and the body of an answer to a ping."""
    form = "\n%{http_code} %{content_type}"
    done = subprocess.run(["curl", "-s", "-w", form, *options, url], capture_output=True, text=True, timeout=30)
    body, _, last = done.stdout.rpartition("\n")
    status, _, content_type = last.partition(" ")
    return int(status), content_type, body


@pytest.mark.parametrize("end", KINDS, ids=lambda end: end.strip("/") or "success")
def test_each_kind_of_ping_is_answered_as_documented_for_each_method(job, end):
    get = ping(f"{job.url}{end}")
    head = ping(f"{job.url}{end}?rid={WORK}", "--head", "-o", "/dev/null")
    post = ping(f"{job.url}{end}", "--data-raw", "text")
    old = ping(f"{job.url}{end}", "--http1.0", "--data-raw", "another text")
    assert get == post == old == (200, "text/plain; charset=utf-8", "OK")
    assert head[:2] == get[:2]
    said = "exit status " + end.strip("/") if end in ("/1", "/255") else ""
    kind = KINDS[end]
    assert job.pings() == [(kind, said), (kind, said), (kind, "text"), (kind, "another text")]
    assert job.details()[2]["rid"] == WORK


def test_wrong_pings_are_refused(job):
    unknown = ping(f"{job.root}/{uuid.uuid4()}")
    assert unknown[0] == 404
    # As Healthchecks answers: these are no pings.
    assert [ping(f"{job.url}{end}")[0] for end in ("/256", "?rid=1", "/start?rid=x")] == [400] * 3
    assert ping(f"{job.url}/other")[0] == 404
    assert job.pings() == []


def test_lines_of_curl_work_as_people_have_them(job):
    shell(f"{CURL} {job.url}")
    shell(f"{CURL} {job.url}/start && true; {CURL} {job.url}/$?")
    shell(f"(exit 3); {CURL} {job.url}/$?")
    shell(f'm=$(echo 7 rows); {CURL} --data-raw "$m" {job.url}')
    shell(f'm=$(echo disk full; exit 4); {CURL} --data-raw "$m" {job.url}/$?')
    shell(f"{CURL} --retry-all-errors {job.url}/fail")
    shell(f"echo line | {CURL} --data-binary @- {job.url}/log")
    expected = [
        ("success", ""),
        ("start", ""),
        # It is the first ping again, a moment later, unless the machine is slow.
        ("success", ""),
        ("fail", "exit status 3"),
        ("success", "7 rows"),
        ("fail", "disk full"),
        ("fail", ""),
        ("log", "line"),
    ]
    assert [it for it in job.pings() if it != ("success", "")] == [it for it in expected if it != ("success", "")]


def test_ids_tell_overlapping_work_apart(job):
    first, second = (str(uuid.uuid4()) for _ in range(2))
    for rid, end in [(first, "/start"), (second, "/start"), (second, ""), (first, "/fail")]:
        shell(f"{CURL} '{job.url}{end}?rid={rid}'")
    occurrences = {it["rid"]: set() for it in job.details()}
    for it in job.details():
        occurrences[it["rid"]].add(it["occurrence"])
    assert [len(it) for it in occurrences.values()] == [1, 1]
    assert occurrences[first] != occurrences[second]


def test_a_body_of_100_kb_is_taken(job):
    assert shell(f"head -c 100000 /dev/zero | tr '\\0' x | curl -fsS --data-binary @- {job.url}") == "OK"
    assert shell(f"printf '\\377\\376' | curl -fsS --data-binary @- {job.url}/log") == "OK"
    assert [kind for kind, _ in job.pings()] == ["success", "log"]


def test_healthchecks_io(job):
    with Client(ping_url=job.root) as client:
        assert client.start_ping(uuid=job.uuid) == (True, "OK")
        assert client.success_ping(uuid=job.uuid, data="7 rows") == (True, "OK")
        assert client.fail_ping(uuid=job.uuid, data="disk full") == (True, "OK")
        assert client.exit_code_ping(3, uuid=job.uuid) == (True, "OK")
        with pytest.raises(CheckNotFoundError):
            client.success_ping(uuid=str(uuid.uuid4()))
        with CheckTrap(client, uuid=job.uuid) as trap:
            trap.add_log("8 rows")
    expected = [
        ("start", ""),
        ("success", "7 rows"),
        ("fail", "disk full"),
        ("fail", "exit status 3"),
        ("start", ""),
        ("success", "8 rows"),
    ]
    # The second start may come within a second of the first one, and is then the same.
    assert [it for it in job.pings() if it[0] != "start"] == [it for it in expected if it[0] != "start"]
    assert job.pings()[0] == ("start", "")


def test_healthchecks_io_async(job):
    async def pings():
        async with AsyncClient(ping_url=job.root) as client:
            with pytest.raises(ValueError):
                async with CheckTrap(client, uuid=job.uuid):
                    raise ValueError("disk full")

    asyncio.run(pings())
    (start, fail) = job.pings()
    assert start == ("start", "")
    assert fail[0] == "fail" and fail[1].startswith("disk full")


def test_pyhealthchecks(job):
    async def pings():
        async with aiohttp.ClientSession() as session:
            client = HealthChecks(asyncio.get_running_loop(), job.url, session)
            taken = await client.update_connection()
            client.update_url(f"{job.root}/{uuid.uuid4()}")
            return taken, await client.update_connection()

    assert asyncio.run(pings()) == (True, None)
    assert job.pings() == [("success", "")]


def test_healthchecks_io_client_of_node(job):
    steps = ["start", "success=7 rows", "fail=disk full", "success", "fail"]
    command = ["node", HERE / "node" / "ping.js", job.root, job.uuid, *steps]
    assert subprocess.check_output(command, text=True, timeout=30) == "OK\n" * len(steps)
    assert job.pings() == [
        ("start", ""),
        ("success", "7 rows"),
        ("fail", "disk full"),
        ("success", ""),
        ("fail", ""),
    ]


def test_the_crate_healthchecks(job):
    steps = ["start", "success", "fail", "disk full"]
    command = [os.environ["HEALTHCHECKS_RUST"], job.root, job.uuid, *steps]
    assert subprocess.check_output(command, text=True, timeout=30) == "true\n" * len(steps)
    assert job.pings() == [("start", ""), ("success", ""), ("fail", ""), ("fail", "disk full")]
