"""A worker process of the tests beside it, as worker_test.go is one in Go: it takes identifiers by hilo.py, and writes what it
uses to its journal at once. SIGTERM has it close, and the end of its standard input ends it."""

import json
import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "protocol"))
import hilo  # noqa: E402
import redis  # noqa: E402

job = json.loads(os.environ["HILO_FAULTS_JOB"])
journal = os.open(job["Journal"], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
host, _, port = job["Servers"][0]["Addrs"][0].rpartition(":")
attempt = 2 * job["DurableTimeout"] / 1e9 or 2  # of which WAIT has half
ids = hilo.Client(redis.Redis(host, int(port), socket_timeout=attempt), timeout=60,
                  min_capacity=job["MinCapacity"] or 32, max_capacity=job["MaxCapacity"] or 1048576)


def stop(*_):
    ids.stopped = True


def end_with_test():
    os.read(0, 1)
    os._exit(3)


def take():
    """Returns the numbers of a batch as runs, and the error that ended it early."""
    runs = []
    for _ in range(job["Batch"]):
        try:
            text = ids.next_identity("companies") if job["Identity"] else ids.next("orders")
        except hilo.Error as error:
            return runs, error
        number = int(text.rpartition("/")[2])
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs, None


def write(*lines):
    os.write(journal, "".join(line.replace("\n", "; ") + "\n" for line in lines).encode())


signal.signal(signal.SIGTERM, stop)
threading.Thread(target=end_with_test, daemon=True).start()
space = "companies/" if job["Identity"] else "orders/"
while not ids.stopped:
    runs, error = take()
    lines = [f"u {space} {low} {high}" for low, high in runs]
    if error and not ids.stopped:
        lines.append(f"e {time.time_ns()} {error}")
    write(*lines)
    time.sleep(job["Pause"] / 1e9)
ids.timeout = 3
try:
    ids.close()
except hilo.Error as error:
    write(f"c {error}")
