"""APScheduler with its store in SQL: `add` adds the jobs of the plan, `work` performs them."""

import http.client
import json
import os
import sys
import threading
from datetime import datetime, timezone
from urllib.parse import urlsplit

with open(os.environ["PEER_PLAN"]) as file:
    PLAN = json.load(file)
TARGET = urlsplit(PLAN["target"])
local = threading.local()


def call(name):
    if not hasattr(local, "connection"):
        local.connection = http.client.HTTPConnection(TARGET.hostname, TARGET.port)
    local.connection.request("POST", f"{TARGET.path}/{name}{PLAN['suffix']}", "x" * 100)
    local.connection.getresponse().read()


# set-up
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

scheduler = BackgroundScheduler(
    jobstores={"default": SQLAlchemyJobStore(url=os.environ["PEER_STORE"])},
    executors={"default": ThreadPoolExecutor(20)},
    job_defaults={"misfire_grace_time": None},
    timezone=timezone.utc,
)

if sys.argv[1] == "add":
    scheduler.start(paused=True)
    for name, due in PLAN.get("jobs", []):
        at = datetime.fromtimestamp(due / 1000, timezone.utc)
        scheduler.add_job(call, "date", run_date=at, args=[name])
    for name, rule in PLAN.get("rules", []):
        scheduler.add_job(call, CronTrigger.from_crontab(rule, PLAN["zone"]), args=[name])
    scheduler.shutdown()
else:
    scheduler.start()
    # end of set-up
    print("ready", flush=True)
    threading.Event().wait()
