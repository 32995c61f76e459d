"""An agent that sleeps, and lets Minutehand wake it.

usage: agent.py [--listen HOST:PORT] [--hours N]

It asks for one call in two hours, and waits for it. When it is called it works, and asks for the next
call. `minutehand mcp` finds the server and the token as every command does: in MINUTEHAND_URL and
MINUTEHAND_TOKEN, or in the context.
"""

import argparse
import asyncio
import os
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

JOB = "agent-wakes"
MINUTEHAND = os.environ.get("MINUTEHAND_BINARY", "minutehand")


async def call_tool(tool, **arguments):
    """Calls a tool of `minutehand mcp`; its text, and whether it failed."""
    settings = {key: value for key, value in os.environ.items() if key.startswith("MINUTEHAND_")}
    server = StdioServerParameters(
        command=MINUTEHAND, args=["mcp", "--allow-writes"], env={**settings, "PATH": os.environ["PATH"]}
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        result = await session.call_tool(tool, arguments)
        return result.content[0].text, bool(result.is_error)


def wake_me(at, url):
    """Asks for one call at an instant. A job that is over keeps its name, so the last one makes room."""
    asyncio.run(call_tool("delete_job", name=JOB))
    text, failed = asyncio.run(
        call_tool("create_job", name=JOB, url=url, method="POST", at=at.strftime("%Y-%m-%dT%H:%M:%SZ"), once=True)
    )
    if failed:
        raise SystemExit(f"nobody will wake me: {text}")
    print(f"asleep until {at:%Y-%m-%d %H:%M:%S} UTC", flush=True)


def work(planned, missed):
    """What the agent is there for. `missed` occurrences were owed and did not succeed before this one."""
    print(f"awake for {planned:%Y-%m-%d %H:%M:%S} UTC, missed {missed}", flush=True)


class Wakes(BaseHTTPRequestHandler):
    def do_POST(self):
        planned = self.headers["x-ms-scheduler-expected-execution-time"]
        planned = datetime.fromisoformat(planned.split(".")[0].rstrip("Z") + "+00:00")
        missed = int(self.headers.get("x-minutehand-missed", "0"))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        # The answer goes out first: the job has to be over before it makes room for the next one.
        threading.Thread(target=self.server.woken, args=(planned, missed)).start()

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--listen", default="127.0.0.1:8099")
    parser.add_argument("--hours", type=float, default=2)
    options = parser.parse_args()
    host, port = options.listen.rsplit(":", 1)
    server, pause = HTTPServer((host, int(port)), Wakes), timedelta(hours=options.hours)
    url = f"http://{options.listen}/wake"

    def woken(planned, missed):
        work(planned, missed)
        # Counted from the plan, so that the agent does not drift; but never into the past.
        wake_me(max(planned, datetime.now(timezone.utc)) + pause, url)

    server.woken = woken
    wake_me(datetime.now(timezone.utc) + pause, url)
    server.serve_forever()


if __name__ == "__main__":
    main()
