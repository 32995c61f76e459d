"""The archive of the deployed stack: its stream, its function and its bucket.

The emulator delivers the stream of the table through the filters of the mapping. It has no destination in S3
for batches that fail, and does not read which records of a batch failed; tests/it plays these.
"""

import gzip
import json
import shutil
import subprocess
import urllib.request

from api import CALL_SECONDS, Api
from installation import Mover
from scenario import SECRET, equal, eventually
from start import HERE, install

DUCKDB = """
import json, re, sys
import duckdb
page, folder = open(sys.argv[1]).read(), sys.argv[2]
database = duckdb.connect()
for name, text in re.findall(r"```sql\\n-- (\\w+)\\n(.*?)```", page, re.DOTALL):
    if name == "duckdb" and text.startswith("CREATE"):
        database.execute(text.replace("/mnt/nas/minutehand", folder))
count = lambda what: database.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
print(json.dumps([count("history"), count("history WHERE outcome = 'failed'"), count("audit")]))
"""


def checks(stack, token, folder):
    emulator, bucket = stack.emulator, stack.outputs["ArchiveBucketName"]
    s3 = emulator.client("s3")

    def lines(kind):
        found = set()
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{kind}/v1/"):
            for key in [it["Key"] for it in page.get("Contents", [])]:
                body = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
                found.update(gzip.decompress(body).decode().splitlines())
        return found

    ended, changes = in_table(stack)
    eventually(lambda: len(lines("history")) >= len(ended) > 0, True, "archived attempts")
    eventually(lambda: len(lines("audit")) >= len(changes) > 0, True, "archived changes")
    ended, changes = in_table(stack)
    read = [json.loads(line) for line in lines("history")]
    archived = {(it["job_uid"], it["attempt"]) for it in read}
    missing = set(ended) - archived
    assert not missing, f"not archived: {missing}"
    everything = str([*lines("history"), *lines("audit")])
    assert SECRET not in everything and "sealed" not in everything, "a secret is in the archive"
    others = [it["Key"] for it in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    known = ("history/v1/date=", "audit/v1/date=", "bodies/v1/date=")
    others = [key for key in others if not key.startswith(known)]
    equal(others, [], "objects beside history, journals and bodies")
    yield f"{len(ended)} attempts and {len(changes)} changes are in the bucket, and nothing else"

    local = folder / "archive"
    shutil.rmtree(local, ignore_errors=True)
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for key in [it["Key"] for it in page["Contents"]]:
            file = local / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    python = install.python("archive", HERE.parent / "archive" / "requirements.txt")
    page = HERE.parent.parent / "shared" / "docs" / "archive.md"
    done = subprocess.run([python, "-c", DUCKDB, page, local], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    attempts, failed, audit = json.loads(done.stdout)
    equal(attempts, len(archived), "attempts in DuckDB")
    equal(failed, sum(it["outcome"] == "failed" for it in read), "failed attempts in DuckDB")
    assert audit >= len(changes), f"{audit} changes in DuckDB, {len(changes)} in the table"
    yield f"DuckDB has each of {attempts} attempts once, {failed} of them failed"

    # Nothing has expired yet, so the API reads the bucket and finds nothing to show.
    jobs = Api(stack.url, token).collection("jobs")
    path = f"{jobs.path}/jobs/minutely/history"
    status, page = Api(stack.url, token).call("GET", f"{path}?api-version=2016-03-01&archive=true")
    equal((status, page["value"]), (200, []), "the archived history of what has not expired")
    yield "the API reads the bucket"

    history = Api(stack.url, token).call("GET", f"{jobs.path}/jobs/failing/history?api-version=2016-03-01")[1]
    failures = [it for it in history["value"] if it["properties"].get("minutehand", {}).get("bodyBytes")]
    assert failures, history
    attempt = failures[0]["name"].rsplit("/", 1)[-1]
    size = failures[0]["properties"]["minutehand"]["bodyBytes"]
    own = f"/minutehand/v1{jobs.path.replace('/providers/Microsoft.Scheduler', '')}"
    body = read_bytes(f"{stack.url}{own}/jobs/failing/history/{attempt}/body", token)
    equal(len(body), size, "the bytes of the body of a failure")
    yield f"the API answers the body of a failure: {size} bytes"

    day = sorted({it["nominal"][:10] for it in read})[-1]
    written = invoke(stack, {"repair": day})
    equal((written["unreadable"], written["next"]), (0, None), "what a repair left")
    assert written["lines"] > 0, written
    yield f"a day is written again: {written['lines']} lines"
    equal(invoke(stack, {"sort": True}), {"read": 0, "lines": 0, "objects": 0}, "what is sorted of a day before it is over")
    yield from backups(stack, s3, bucket, folder)


def backups(stack, s3, bucket, folder):
    """A backup, which is whole, and which an installation that has jobs refuses."""
    said = invoke(stack, {"backup": True})
    assert said["jobs"] > 0, said
    equal((said["done"], said["unreadable"], said["removed"]), (True, 0, 0), "what a backup left out and removed")
    equal(invoke(stack, {"backup": "due"}), {"backup": None, "done": True}, "what is due after the backup of the day")
    read = s3.get_object(Bucket=bucket, Key=f"backup/{said['backup']}/manifest.json")["Body"].read()
    manifest = json.loads(read)
    equal(sum(it["lines"] for it in manifest["files"] if it["kind"] == "jobs"), said["jobs"], "jobs of the manifest")
    equal(manifest["schedule_of"], f"s3://{bucket}", "whose schedule made the backup")
    assert manifest["secrets"] > 0, manifest
    yield f"a backup of {said['collections']} collections and {said['jobs']} jobs is in the bucket"

    refused = Mover(stack, folder).asks({"import": {"backup": said["backup"]}}, "has collections already")
    equal(refused, None, "the answer to an import beside what is there")
    yield "an import of it reads every line, and changes nothing of an installation that has jobs"


def read_bytes(url, token):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, None, CALL_SECONDS) as answer:
        return answer.read()


def invoke(stack, event):
    client = stack.emulator.client("lambda")
    answer = client.invoke(FunctionName=stack.outputs["ArchiverFunctionName"], Payload=json.dumps(event))
    said = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, said
    return said


def in_table(stack):
    """The finished attempts and the changes that are in the table."""
    client = stack.emulator.client("dynamodb")
    pages = client.get_paginator("scan").paginate(TableName=stack.outputs["TableName"])
    items = [item for page in pages for item in page["Items"]]
    keys = [(it["pk"]["S"], it["sk"]["S"], it) for it in items]
    ended = [(pk[2:], sk) for pk, sk, it in keys if pk.startswith("H#") and "ended_at" in it]
    changes = [(pk[2:], sk) for pk, sk, _ in keys if pk.startswith("L#")]
    return ended, changes
