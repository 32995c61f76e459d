"""An assistant's view of `minutehand mcp`, by the official client of the protocol."""

import asyncio
import json
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

READ = {
    "list_collections", "list_jobs", "get_job", "job_history", "why_not_firing", "preview",
}
WRITE = {"create_job", "update_job", "run_job", "delete_job"}
ENVIRONMENT = {name: os.environ[name] for name in ("MINUTEHAND_URL", "MINUTEHAND_TOKEN", "PATH")}


def server(*arguments):
    return StdioServerParameters(
        command=os.environ["MINUTEHAND_BINARY"], args=["mcp", *arguments], env=ENVIRONMENT
    )


async def call(session, tool, **arguments):
    """Calls a tool; returns its text, and whether it failed."""
    result = await session.call_tool(tool, arguments)
    (content,) = result.content
    return content.text, bool(result.isError)


async def must(session, tool, **arguments):
    text, failed = await call(session, tool, **arguments)
    assert not failed, f"{tool}: {text}"
    return text


async def read_only():
    async with stdio_client(server()) as (read, write), ClientSession(read, write) as session:
        about = await session.initialize()
        assert about.serverInfo.name == "minutehand", about
        assert "COLLECTION/JOB" in about.instructions
        tools = (await session.list_tools()).tools
        assert {tool.name for tool in tools} == READ, tools
        assert all(tool.annotations.readOnlyHint for tool in tools)
        text, failed = await call(session, "create_job", name="a", url="http://a/", every="1h")
        assert failed and "--allow-writes" in text, text
        text, failed = await call(session, "explode")
        assert failed and "there is no tool explode" in text, text
        preview = json.loads(await must(session, "preview", cron="30 2 * * 1-5", zone="Europe/Berlin"))
        (job,) = preview["jobs"]
        assert job["sentence"].endswith("at 02:30 Europe/Berlin time"), job
        assert len(job["next"]) == 10, job
        text, failed = await call(session, "preview", at="09:00")
        assert failed and "--daily" in text, text


async def everything():
    arguments = server("--allow-writes")
    async with stdio_client(arguments) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == READ | WRITE, tools
        assert tools["delete_job"].annotations.destructiveHint
        made = json.loads(
            await must(session, "create_job", name="nightly", url="http://127.0.0.1:9/",
                       at="02:30", daily=True, zone="Europe/Paris", retry=2)
        )
        assert made["name"] == "default/nightly", made
        assert made["sentence"] == "every day at 02:30 Europe/Paris time", made
        jobs = json.loads(await must(session, "list_jobs"))
        assert [job["name"] for job in jobs] == ["default/nightly"], jobs
        changed = await must(
            session, "update_job", name="nightly", properties={"state": "disabled"}
        )
        assert json.loads(changed)["state"] == "disabled", changed
        why = await must(session, "why_not_firing", name="nightly")
        assert why.startswith("The job is disabled since "), why
        text, failed = await call(session, "update_job", name="nightly", properties={"stat": 1})
        assert failed and "stat" in text, text
        shown = json.loads(await must(session, "get_job", name="nightly"))
        assert shown["properties"]["action"]["retryPolicy"]["retryCount"] == 2, shown
        assert json.loads(await must(session, "job_history", name="nightly")) == []
        await must(session, "delete_job", name="nightly")
        text, failed = await call(session, "get_job", name="nightly")
        assert failed and "nightly" in text, text


def main():
    asyncio.run(read_only())
    asyncio.run(everything())
    print("2 passed: an assistant that reads, and one that writes")


main()
