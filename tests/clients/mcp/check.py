"""An assistant's view of `minutehand mcp` and of `/mcp`, by the official client of the protocol."""

import asyncio
import contextlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tasks
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

READ = {"list_collections", "get_collection", "list_jobs", "get_job", "job_history", "why", "preview",
        "journal", "alerts", "failures", "find_jobs", "overview", "wall"}
WRITE = {"create_collection", "update_collection", "create_job", "update_job", "run_job", "redrive", "cancel", "ping_url", "rotate_ping",
         "delete_job", "test_alert"}
ENVIRONMENT = {name: os.environ[name] for name in ("MINUTEHAND_URL", "MINUTEHAND_TOKEN", "PATH")}
SECRET = "hunter2-and-more"


def server(*arguments):
    return StdioServerParameters(
        command=os.environ["MINUTEHAND_BINARY"], args=["mcp", *arguments], env=ENVIRONMENT
    )


@contextlib.asynccontextmanager
async def over_a_pipe():
    async with stdio_client(server("--allow-writes")) as (read, write):
        async with ClientSession(read, write) as session:
            yield session


@contextlib.asynccontextmanager
async def over_http():
    known = {"Authorization": f"Bearer {ENVIRONMENT['MINUTEHAND_TOKEN']}"}
    url = f"{ENVIRONMENT['MINUTEHAND_URL']}/mcp"
    async with create_mcp_http_client(headers=known) as client:
        async with streamable_http_client(url, http_client=client) as (read, write, *_):
            async with ClientSession(read, write) as session:
                yield session


class Assistant:
    """A session, and everything that was answered in it."""

    def __init__(self, session):
        self.session = session
        self.seen = []

    async def call(self, tool, **arguments):
        """Calls a tool; returns its text, and whether it failed."""
        result = await self.session.call_tool(tool, arguments)
        (content,) = result.content
        self.seen.append(content.text)
        if not result.is_error:
            assert result.structured_content == json.loads(content.text), result
        return content.text, bool(result.is_error)

    async def must(self, tool, **arguments):
        text, failed = await self.call(tool, **arguments)
        assert not failed, f"{tool}: {text}"
        return json.loads(text)

    async def refused(self, says, tool, **arguments):
        text, failed = await self.call(tool, **arguments)
        assert failed and says in text, f"{tool} {arguments}: {text}"


async def reads():
    async with stdio_client(server()) as (read, write), ClientSession(read, write) as session:
        about = await session.initialize()
        assert about.server_info.name == "minutehand", about
        assert "COLLECTION/JOB" in about.instructions
        tools = (await session.list_tools()).tools
        assert {tool.name for tool in tools} == READ, tools
        assert all(tool.annotations.read_only_hint for tool in tools)
        assert not any("file" in name for tool in tools for name in tool.input_schema["properties"])
        assistant = Assistant(session)
        for name in WRITE:
            await assistant.refused("--allow-writes", name, name="a", url="http://a/", every="1h")
        await assistant.refused("the tools are list_collections", "explode")
        assert await assistant.must("list_collections") == {"collections": [], "more": False}
        job, = (await assistant.must("preview", cron="30 2 * * 1-5", zone="Europe/Berlin"))["jobs"]
        assert job["sentence"].endswith("at 02:30 Europe/Berlin time"), job
        assert len(job["next"]) == 5, job
        jobs = (await assistant.must("preview", cron="0 9 13 * fri", occurrences=1))["jobs"]
        assert len(jobs) == 2, jobs
        for says, arguments in [
            ("daily, or once", {"at": "09:00"}),
            ("cannot be used with", {"cron": "@daily", "every": "1h"}),
            ("'every' is 15; use a string", {"every": 15}),
            ("'daily' is \"yes\"; use true or false", {"daily": "yes"}),
            ("use a number from 1 to 200", {"every": "1h", "occurrences": 0}),
            ("preview has no argument 'cronn'\nits arguments: at, on,", {"cronn": "@daily"}),
            ("did you mean 'Europe/Berlin'?", {"every": "1h", "zone": "Europe/Berln"}),
        ]:
            await assistant.refused(says, "preview", **arguments)
        await assistant.refused("get_job needs the argument 'name'", "get_job")


async def writes(way, url):
    async with way() as session:
        about = await session.initialize()
        assert about.server_info.name == "minutehand", about
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == READ | WRITE, tools
        assert tools["delete_job"].annotations.destructive_hint
        assert not any("file" in name for name in tools["create_job"].input_schema["properties"])
        assistant = Assistant(session)
        await creates(assistant, url)
        await changes(assistant)
        await runs(assistant)
        await keeps_secrets(assistant, url)
        await assistant.must("delete_job", name="nightly")
        for tool in ("get_job", "job_history", "why", "run_job", "delete_job"):
            await assistant.refused("nightly", tool, name="nightly")
        assert SECRET not in "".join(assistant.seen)


async def creates(assistant, url):
    made = await assistant.must(
        "create_job", name="nightly", url=url, at="02:30", daily=True, zone="Europe/Paris",
        retry=2, header=["X-Team: ops"],
    )
    assert made["name"] == "default/nightly", made
    assert made["sentence"] == "every day at 02:30 Europe/Paris time", made
    await assistant.refused("there is a job", "create_job", name="nightly", url=url, every="1h")
    await assistant.refused("create_collection", "create_job", name="ops/a", url=url, every="1h")
    await assistant.refused("needs the argument 'url'", "create_job", name="b", every="1h")
    await assistant.refused("has no argument 'header_file'", "create_job", name="b", url=url,
                            every="1h", header_file=["X=/etc/passwd"])
    listed = await assistant.must("list_jobs", limit=1)
    assert [job["name"] for job in listed["jobs"]] == ["default/nightly"], listed
    assert not listed["more"], listed
    found = await assistant.must("find_jobs", text="Night")
    assert "default/nightly" in json.dumps(found), found
    wall = await assistant.must("wall", ahead=24)
    assert wall["collections"][0]["due"] >= 1 and wall["isWhole"], wall
    shown = await assistant.must("get_job", name="nightly")
    assert shown["properties"]["action"]["retryPolicy"]["retryCount"] == 2, shown


async def changes(assistant):
    changed = await assistant.must("update_job", name="nightly", properties={"state": "disabled"})
    assert changed["state"] == "disabled", changed
    why = await assistant.must("why", name="nightly")
    assert why["verdict"] == "notFiring" and "The job is disabled since " in why["sentence"], why
    asked = await assistant.must("why", name="nightly", at="2050-01-01T00:00:00Z")
    assert asked["verdict"] and asked["sentence"], asked
    # Another schedule leaves nothing of the old one but the time zone. It begins after this test.
    changed = await assistant.must(
        "update_job", name="nightly", properties={"state": "enabled"}, every="15m", start="2050-01-01T00:00:00Z"
    )
    assert changed["sentence"] == "every 15 minutes", changed
    why = await assistant.must("why", name="nightly")
    assert why["verdict"] == "well" and "It fires next at 2050-" in why["sentence"], why
    shown = await assistant.must("get_job", name="nightly")
    recurrence = shown["properties"]["recurrence"]
    assert recurrence == {"frequency": "minute", "interval": 15, "timeZone": "Europe/Paris"}, shown
    assert shown["properties"]["action"]["retryPolicy"]["retryCount"] == 2, shown
    await assistant.refused("stat", "update_job", name="nightly", properties={"stat": 1})
    await assistant.refused("what to change", "update_job", name="nightly")
    await assistant.refused(
        "said twice", "update_job", name="nightly", every="1h", properties={"recurrence": None}
    )


async def runs(assistant):
    ran = await assistant.must("run_job", name="nightly", wait=True)
    assert ran["result"] == "succeeded", ran
    history = await assistant.must("job_history", name="nightly")
    assert [attempt["actionName"] for attempt in history["attempts"]] == ["MainAction"], history
    assert (await assistant.must("job_history", name="nightly", failed=True))["attempts"] == []


async def keeps_secrets(assistant, url):
    says = "an assistant cannot set passwords"
    await assistant.refused(says, "create_job", name="b", url=url, every="1h",
                            header=[f"Authorization: {SECRET}"])
    for request in [
        {"authentication": {"type": "Basic", "username": "u", "password": SECRET}},
        {"headers": {"X-Api-Key": SECRET}},
    ]:
        await assistant.refused(says, "update_job", name="nightly",
                                properties={"action": {"request": request}})


class Target(BaseHTTPRequestHandler):
    """It answers well, except at /broken, where it tries to give orders."""

    def do_GET(self):
        broken = self.path == "/broken"
        body = tasks.ORDER.encode() if broken else b""
        self.send_response(500 if broken else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    target = ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{target.server_port}/"
    asyncio.run(reads())
    ways = (over_a_pipe, over_http)
    for way in ways:
        asyncio.run(writes(way, url))
    for n, way in enumerate(ways):
        asyncio.run(tasks.carry_out(way, f"shop{n}", url))
    print("5 passed: an assistant that reads, and two ways to write and to carry out five tasks")


main()
