"""Jobs that are due at one instant, as APScheduler has them, in memory: each calls the target.

Prints the instant in milliseconds, and ends when all are done.
"""

import http.client
import math
import sys
import threading
import time
from datetime import datetime, timezone
from urllib.parse import urlsplit

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

target, count = urlsplit(sys.argv[1]), int(sys.argv[2])
local = threading.local()
done = threading.Semaphore(0)


def call(number):
    if not hasattr(local, "connection"):
        local.connection = http.client.HTTPConnection(target.hostname, target.port)
    local.connection.request("POST", f"{target.path}/{number}", "x" * 100)
    local.connection.getresponse().read()
    done.release()


scheduler = BackgroundScheduler(
    executors={"default": ThreadPoolExecutor(20)},
    job_defaults={"misfire_grace_time": None},
    timezone=timezone.utc,
)
due = math.ceil(time.time()) + 20
for number in range(count):
    scheduler.add_job(call, "date", run_date=datetime.fromtimestamp(due, timezone.utc), args=[number])
scheduler.start()
if time.time() > due - 1:
    sys.exit("added too slowly")
print(due * 1000, flush=True)
for _ in range(count):
    done.acquire()
scheduler.shutdown()
