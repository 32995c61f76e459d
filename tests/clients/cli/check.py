"""Every command with --json: what it prints has to be what the API's description says of it.

The commands in OWN print documents that no endpoint answers; their schemas are here.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from jsonschema import Draft4Validator

DESCRIPTION = Path(__file__).resolve().parents[3] / "shared" / "rest" / "openapi.json"
NAMES = ("MINUTEHAND_URL", "MINUTEHAND_TOKEN", "MINUTEHAND_CA", "PATH")
ENVIRONMENT = {name: os.environ[name] for name in NAMES if name in os.environ}
BINARY = os.environ["MINUTEHAND_BINARY"]


def text(**more):
    return {"type": "string", **more}


def closed(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def done(what, count=None):
    """What a command says that the API answers nothing for."""
    item = closed(**{what: text()}, did={"enum": ["enabled", "disabled", "deleted"]})
    if count is None:
        return item
    return {"type": "array", "items": item, "minItems": count, "maxItems": count}


NUMBER = {"type": "integer", "minimum": 0}
COUNTS = {"type": "array", "items": NUMBER}

# What is printed, and the schema of the description that it has to fit; with `[]`, of each item of a
# list. Commands run in this order, and the jobs of one are there for the next.
ANSWERED = [
    ("collection create ops --zone Europe/Berlin", "JobCollection"),
    ("collection list", "JobCollection[]"),
    ("collection show ops", "JobCollection"),
    ("collection set ops quota.maxJobCount=30", "JobCollection"),
    ("job create ops/bad --every 1h --url {target}/500 --retry 0", "Job"),
    ("job create ops/fine --at 09:00 --on mon-fri --url {target}/200", "Job"),
    ("job create ops/never --every 1h --url http://127.0.0.1:1/ --dry-run", "Job"),
    ("job set ops/fine recurrence.schedule.hours=[10]", "Job"),
    ("job copy ops/fine ops/copy", "Job"),
    ("job list ops", "Job[]"),
    ("job list ops --state enabled --by next", "Job[]"),
    ("job run ops/fine --wait", "JobHistory"),
    ("job run ops/bad --wait", "JobHistory"),
    ("job history ops/bad", "JobHistory[]"),
    ("job show ops/bad", "JobDescription"),
    ("job show ops/fine", "JobDescription"),
    ("job next ops/fine --limit 3", "Occurrence[]"),
    ("job why ops/fine now", "Why"),
    ("job why ops/fine now+30d", "Why"),
    ("job show ops/fine", "JobDescription"),
    ("job resume ops/bad", "Job"),
    ("journal ops", "JournalEntry[]"),
    ("journal ops/fine", "JournalEntry[]"),
    ("dead list", "DeadLetter[]"),
    ("dead redrive --all --yes", "DeadLettersDone"),
    ("dead delete --all --yes", "DeadLettersDone"),
    ("api GET /minutehand/v1/me", "Me"),
    ("api GET /minutehand/v1/zones", "Zones"),
    ("api GET /minutehand/v1/processes", "ProcessList"),
    ("api GET /minutehand/v1/database", "DatabaseNotes"),
    ("api GET /minutehand/v1/subscriptions", "SubscriptionList"),
]
OWN = [
    (
        "collection load ops",
        closed(
            **{"from": text(), "to": text()},
            step=text(),
            starts={"type": ["array", "null"], "items": text()},
            counts=COUNTS,
            jobs=NUMBER,
        ),
    ),
    (
        "calendar ops",
        closed(
            zone=text(),
            minutes={"const": 60},
            days={"type": "array", "items": closed(date=text(), counts=COUNTS), "minItems": 7},
        ),
    ),
    (
        "doctor",
        {
            "type": "array",
            "minItems": 1,
            "items": closed(
                check=text(), ok={"type": "boolean"}, says=text(), remedy={"type": ["string", "null"]}
            ),
        },
    ),
    ("version", closed(program=text(), server={"$ref": "#/components/schemas/Health"})),
    ("context list", {"type": "array"}),
    (
        "top --once",
        closed(
            overview={"$ref": "#/components/schemas/Overview"},
            upcoming={"type": "array", "items": {"type": "object", "required": ["at", "job"]}},
        ),
    ),
    ("job disable ops/fine ops/copy --yes", done("job", 2)),
    ("job enable ops/fine --yes", done("job", 1)),
    ("collection disable ops", done("collection")),
    ("collection enable ops", done("collection")),
    ("job delete ops/copy --yes", done("job", 1)),
    ("collection delete ops --yes", done("collection")),
]


class Target(BaseHTTPRequestHandler):
    """Answers with the status that its path names."""

    def do_GET(self):
        self.send_response(int(self.path.strip("/")))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def in_draft_4(schema):
    """A schema of OpenAPI 3.0 as JSON Schema: `nullable` becomes a type."""
    if isinstance(schema, list):
        return [in_draft_4(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {name: in_draft_4(part) for name, part in schema.items() if name != "nullable"}
    if schema.get("nullable") is True:
        # Where a property is called `nullable`, its value is a schema.
        return {"anyOf": [converted, {"type": "null"}]}
    return converted


def problems(schema, document):
    found = Draft4Validator(schema).iter_errors(document)
    return [f"{error.json_path}: {error.message[:300]}" for error in found]


def printed(line):
    """Runs a command, and returns the document that it printed; and what is wrong with it."""
    words = [word.replace("_", " ") for word in line.split()]
    done = subprocess.run(
        [BINARY, *words, "--json"], env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )
    # 5: the action of the job failed, or a check.
    if done.returncode not in (0, 5):
        return None, [f"exit {done.returncode}: {done.stderr.strip()}"]
    try:
        return json.loads(done.stdout), []
    except ValueError as error:
        return None, [f"no JSON ({error}): {done.stdout[:300]}"]


def main():
    described = in_draft_4(json.loads(DESCRIPTION.read_text())["components"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    target = f"http://127.0.0.1:{server.server_port}"
    cases = []
    for line, name in ANSWERED:
        one = {"$ref": f"#/components/schemas/{name.removesuffix('[]')}"}
        whole = {"type": "array", "items": one} if name.endswith("[]") else one
        cases.append((line, {"allOf": [whole], "components": described}))
    failed = 0
    own = [(line, {**schema, "components": described}) for line, schema in OWN]
    for line, schema in cases + own:
        document, wrong = printed(line.format(target=target))
        wrong += problems(schema, document) if not wrong else []
        for problem in wrong:
            print(f"{line}: {problem}")
        failed += bool(wrong)
    count = len(cases) + len(own)
    print(f"{failed} failed, {count - failed} passed" if failed else f"{count} passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
