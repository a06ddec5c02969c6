#!/usr/bin/env python3
"""Identifiers from hilo's counters in Redis: a small client, to use and to learn from.

    python3 hilo.py --redis redis://127.0.0.1:6379/0 --count 3 orders

prints orders/1 to orders/3, with the server's prefix and tag where it has them. In a program:

    with contextlib.closing(hilo.Client(redis.Redis.from_url(url, socket_timeout=2))) as ids:
        ids.next("orders")              # "orders/4"
        ids.next_identity("companies")  # "companies/1"

It needs redis-py 4 or later (Debian: python3-redis), and the scripts, which stand beside it. PROTOCOL.md has the
client's duties; where one is kept here, a comment has its number.
"""

import argparse
import hashlib
import math
import os
import pathlib
import random
import re
import secrets
import signal
import sys
import threading
import time
import unicodedata

try:
    import redis
except ImportError:
    sys.exit("hilo.py: redis-py is missing; Debian and Ubuntu have it as python3-redis, others by pip install redis")

LARGEST = 2**63 - 1
REDIS_ERRORS = (redis.exceptions.RedisError, redis.exceptions.RedisClusterException)
PASSING_WORDS = ("BUSY ", "MASTERDOWN ", "NOREPLICAS ", "OOM ", "MISCONF ", "CLUSTERDOWN ", "TRYAGAIN ")
LOGIN = ("NOAUTH ", "WRONGPASS ", "Protocol error: unauthenticated")  # the last: so many arguments before it
PASSING = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, redis.exceptions.ReadOnlyError,
           redis.exceptions.ClusterError, redis.exceptions.TryAgainError, redis.exceptions.RedisClusterException)


class Error(Exception):
    code = 1  # what the program exits with


class InvalidName(Error):
    code = 2  # a collection or a namespace that no identifier can have


class Unavailable(Error):
    code = 3  # the server did not answer in time


class Refused(Error):
    code = 4  # the script refused, and wrote nothing; the text begins with the tag, as HILO_EXHAUSTED


class Script:  # one of those beside this file
    def __init__(self, name):
        self.text = pathlib.Path(__file__).with_name(name + ".lua").read_bytes()
        self.sha1 = hashlib.sha1(self.text).hexdigest()

    def run(self, client, keys, args):
        try:
            return client.evalsha(self.sha1, len(keys), *keys, *args)
        except redis.exceptions.NoScriptError:  # nothing was run: EVAL runs it, and teaches it to the server
            return client.eval(self.text, len(keys), *keys, *args)


class Counter:  # what this client knows of one
    def __init__(self):
        # Duty 2: one request at a time for each counter. Each has to know the floor that the one before left.
        self.lock = threading.Lock()
        self.floor = 0  # the greatest number that was given
        self.epoch = 0  # the greatest one that was seen
        self.lowered = 0  # of an identity: how often it was lowered by force, as far as is known
        self.issued, self.seconds, self.at = 0, 1, 0.0  # the tallies of the last reply, and when it came
        self.capacity, self.asked = 0, 0.0  # of the last range, and when it was asked for
        self.pending = None  # token, count and time of a request whose reply never came
        self.range = None


class Range:
    """Duty 8: numbers in hand, with all that came with them; none is ever paired with another range's prefix."""

    def __init__(self, token, reply):
        self.token = token
        self.low, self.high, self.epoch = number(reply[1]), number(reply[2]), number(reply[3])
        self.prefix, self.tag = reply[4], reply[5]
        self.jump, self.evidence = number(reply[6]), reply[7]
        self.issued, self.seconds = number(reply[8]), number(reply[9])
        self.written = number(reply[12])
        self.used = self.low - 1  # the last number that was handed out


class Client:
    """Gives identifiers from one server, to several threads if need be. What is not used goes back with close().

    client is of redis-py: Redis, RedisCluster, or a Sentinel's master_for(), with a socket_timeout, which is how long one
    attempt may take; timeout is how long to try again, in seconds."""

    def __init__(self, client, namespace="Raven", separator="/", min_capacity=32, max_capacity=1048576, limit=LARGEST,
                 guard_gap=0, require_seeded=False, require_prefix=False, timeout=10.0):
        check_name("namespace", namespace, "{}")
        # orders and 11, orders1 and 1: of nothing, a digit or a letter between them, both would be one text.
        if len(separator) != 1 or separator.isalnum() or unusable(fold(separator), "|") or separator.upper() != separator.lower():
            raise InvalidName(f"separator {separator!r}: one character, no letter, digit, white space or |")
        self.client, self.root, self.separator = client, "{" + namespace + "}/", separator
        self.min_capacity, self.max_capacity, self.limit, self.guard_gap = min_capacity, max_capacity, limit, guard_gap
        self.flags, self.timeout = [int(require_seeded), int(require_prefix)], timeout
        self.stopped = False  # set it, and nothing is tried again
        self.scripts = {name: Script(name) for name in ("next", "return", "identity")}
        self.lock = threading.Lock()  # of what follows
        self.counters, self.closed = {}, False

    def next(self, collection):
        """The next identifier of a collection. Asks the server only when the range in hand is used up."""
        counter, keys = self._counter("HiLo/", "Identities/", collection)
        with counter.lock:
            held = counter.range
            if held is None or held.used == held.high:
                held = counter.range = self._next_range(counter, keys, collection)
            held.used += 1
            return identifier(collection, self.separator, held.prefix, held.used, held.tag)

    def next_identity(self, name):
        """The next value of an identity, as an identifier, which has neither prefix nor tag. Each call asks the server."""
        counter, keys = self._counter("Identities/", "HiLo/", name)
        with counter.lock:
            request = (secrets.token_hex(16), 1, time.monotonic())
            got, lowered = self._take("identity", counter, keys, name, request, [counter.lowered, 0, 0])
            counter.lowered = number(lowered)
            return name + self.separator + str(got.low)

    def close(self):
        """Returns what is not used. Raises the last error where that failed, which leaves a gap and harms nothing."""
        with self.lock:
            counters, self.closed = list(self.counters.items()), True
        failed = None
        for key, counter in counters:
            with counter.lock:
                held, counter.range = counter.range, None
                try:  # Duty 11: with the token, epoch and time of this very range; it may be sent twice
                    if held and held.used < held.high:
                        self._call("return", [key], [held.token, held.high, held.used, held.epoch, held.written])
                except Error as error:
                    failed = type(error)(f"{key}: {held.used + 1}..{held.high} not returned: {error}")
        if failed:
            raise failed

    def _counter(self, kind, other, name):
        check_name("collection", name, "|{}" + self.separator)
        keys = [self.root + kind + fold(name), self.root + "ServerPrefixForHilo", self.root + other + fold(name)]
        with self.lock:
            if self.closed:
                raise Error("the client is closed")
            return self.counters.setdefault(keys[0], Counter()), keys

    def _next_range(self, counter, keys, collection):
        if counter.pending is None:
            now = time.monotonic()
            capacity = next_capacity(counter.capacity, now - counter.asked, self.min_capacity, self.max_capacity)
            counter.pending = (secrets.token_hex(16), capacity, now)  # Duty 1: a token that nobody else ever has
        # Duty 1: where no reply came, in this call or the one before, the request is sent again as it was, token and all.
        request, counter.pending = counter.pending, None
        try:
            got, _ = self._take("next", counter, keys, collection, request, [])
        except Unavailable:
            counter.pending = request  # nobody knows whether it was run
            raise
        _, counter.capacity, counter.asked = request
        check_additions(keys[1], got.prefix)
        return got

    def _take(self, script, counter, keys, name, request, more):
        """Sends a request for numbers, and takes note of what the reply says."""
        token, count, _ = request
        gap = least_gap(counter.issued, counter.seconds, time.monotonic() - counter.at) if counter.floor else 0
        args = [token, count, self.limit, counter.floor, counter.epoch, self.guard_gap, gap, name, *self.flags, *more]
        reply = self._call(script, keys, args)
        # Duty 7: a reply that is not one, or is of another request, is not believed.
        if len(reply) != 14 or reply[0] != token:
            if hasattr(self.client, "connection_pool"):
                self.client.connection_pool.disconnect()  # what is still to come on it answers nobody
            raise Error(f"{keys[0]}: not the reply to request {token}: {reply}")
        got = Range(token, reply)
        floor = counter.floor
        if script == "identity" and number(reply[13]) > counter.lowered:
            floor = 0  # of an identity: it was lowered on purpose, so the floor begins anew
        if not floor < got.low <= got.high <= min(self.limit, got.low + count - 1):
            raise Error(f"{keys[0]}: numbers {got.low}..{got.high} for {count} above {floor}")
        # Duties 3, 4, 5: floor, epoch and tallies are those of the newest reply.
        counter.floor, counter.epoch = max(floor, got.high), max(counter.epoch, got.epoch)
        counter.issued, counter.seconds, counter.at = got.issued, got.seconds, time.monotonic()
        if got.evidence:
            print(f"hilo.py: {keys[0]}: writes may have been lost ({got.evidence}): it jumped by {got.jump}", file=sys.stderr)
        return got, reply[13]

    def _call(self, script, keys, args):
        """Runs a script, again and again until it is answered. What is sent stays the same, the token above all."""
        wait, until = 0.1, time.monotonic() + self.timeout
        while True:
            try:
                reply = self.scripts[script].run(self.client, keys, args)
                return [item.decode(errors="surrogateescape") if isinstance(item, bytes) else item for item in reply]
            except REDIS_ERRORS as error:
                lasting = outcome(keys[0], error)
                pause = wait * random.uniform(0.5, 1)  # so that a fleet does not come back in step
                if lasting or self.stopped or time.monotonic() + pause >= until:
                    raise lasting or Unavailable(f"{keys[0]}: {error}") from error
                time.sleep(pause)
                wait = min(2 * wait, 1.0)


def outcome(key, error):
    """What an error of redis-py comes to; None where it may pass by itself: a server that is away, loading, a replica."""
    text = str(error).removeprefix("ERR ")
    if text.startswith("HILO_"):  # refused, and nothing written; the same again makes no sense
        return (Error if text.startswith(("HILO_CORRUPT ", "HILO_ARGUMENT ")) else Refused)(text)
    if text.startswith(("MOVED ", "ASK ")):  # RedisCluster follows these by itself
        return Error(f"{key} is on another node of a cluster: use RedisCluster, or redis+cluster://")
    if isinstance(error, redis.exceptions.AuthenticationError) or text.startswith(LOGIN):
        return Unavailable(f"{key}: {text}")
    if isinstance(error, PASSING) or text.startswith(PASSING_WORDS):
        return None
    return Error(f"{key}: {text}")


def identifier(collection, separator, prefix, value, tag):
    """The prefix carries its own separator; the tag has a dash in front."""
    return collection + separator + prefix + str(value) + ("-" + tag if tag else "")


def next_capacity(last, since, smallest=32, largest=1048576):
    """Duty 6: how many numbers to ask for, twice as many when the last range was asked for within 30 s, half after 60 s."""
    if not last or since is None:
        return smallest
    if since < 30:
        return min(2 * last, largest)
    return max(last // 2, smallest) if since > 60 else last


def least_gap(issued, seconds, since):
    """Duty 5: twice what was issued when the tallies were seen, and twice what was issued since at that rate."""
    return min(2 * max(issued, math.ceil(since * issued / max(seconds, 1))), LARGEST)


def fold(name):
    """A name without letter case, as it stands in keys: character by character, where that is one character again."""
    def one(character):
        upper = character.upper() if len(character.upper()) == 1 and character != "ı" else character
        return upper.lower() if len(upper.lower()) == 1 else upper
    return "".join(map(one, name))


def unusable(text, reserved):
    """The first character that may not be in it: surrogates stand for what is not UTF-8, and of one that this Python does
    not know yet (Cn) nobody here can say what it is without letter case."""
    return next((c for c in text if c in reserved or c.isspace() or unicodedata.category(c) in ("Cc", "Cs", "Cn")), None)


def check_name(what, name, reserved):
    size = len(name.encode(errors="surrogateescape"))
    if not 1 <= size <= 128:
        raise InvalidName(f"{what} {name!r} is {size} bytes long: 1 to 128")
    if unusable(name, reserved):
        raise InvalidName(f"{what} {name!r} holds {unusable(name, reserved)!r}")


def check_additions(key, prefix):
    """Duty 9: the script checks prefix and tag but for what takes Unicode. An identifier must be read in one way only."""
    if (unusable(prefix, "|{}") or prefix[-1:].isdecimal()
            or re.search("[0-9]-[A-Za-z][A-Za-z0-9]*$", fold(prefix))):
        raise Error(f"{key}: ServerPrefix {prefix!r} cannot be part of an identifier")


def number(text):
    if isinstance(text, str) and re.fullmatch("0|[1-9][0-9]{0,18}", text) and int(text) <= LARGEST:
        return int(text)
    raise Error(f"{text!r} is not a number of 63 bits")


def print_ids(ids, name, count):
    """Prints identifiers; returns the code to exit with. A signal ends it, and what is not used is returned."""
    sys.stdout.reconfigure(encoding="utf-8")
    printing = False

    def stop(*_):
        nonlocal printing
        ids.stopped, waiting, printing = True, printing, False
        if waiting:  # for somebody to read, maybe for ever, so this alone is broken off
            raise KeyboardInterrupt("told to end")

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    code, problem = 0, None
    try:
        for _ in range(count):
            text = ids.next_identity(name[:-1]) if name.endswith("|") else ids.next(name)
            printing = True
            print(text, flush=True)
            printing = False
            if ids.stopped:
                raise KeyboardInterrupt("told to end")
    except (KeyboardInterrupt, OSError) as error:
        code, problem, printing = 1, error, False
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still writes at its end
    except Error as error:
        code, problem = error.code, error
    try:
        ids.close()
    except Error as error:
        problem = f"{problem or 'done'}; {error}"
    if problem:
        print("hilo.py:", problem, file=sys.stderr)
    return code


def connect(url):
    """A client for an URL of redis-py (redis://, rediss://, unix://), or redis+cluster:// with any node of a cluster."""
    if url.startswith("redis+cluster://"):
        return redis.RedisCluster.from_url(url.replace("redis+cluster", "redis", 1), socket_timeout=2)
    return redis.Redis.from_url(url, socket_timeout=2)


def main():
    parser = argparse.ArgumentParser(prog="hilo.py", description="Prints identifiers of a collection, one a line.")
    parser.add_argument("--redis", metavar="URL", default=os.environ.get("HILO_REDIS_URL", "redis://127.0.0.1:6379/0"))
    parser.add_argument("--namespace", default="Raven")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=10.0, help="how long to try a server that is away, in seconds")
    parser.add_argument("--require-prefix", action="store_true", help="a server with neither prefix nor tag gives nothing")
    parser.add_argument("--require-seeded", action="store_true", help="a counter that does not exist gives nothing")
    parser.add_argument("collection", metavar="COLLECTION", help="orders; or companies| for an identity")
    options = parser.parse_args()
    if options.count < 1:
        parser.error("--count is 1 or more")
    try:
        ids = Client(connect(options.redis), namespace=options.namespace, timeout=options.timeout,
                     require_prefix=options.require_prefix, require_seeded=options.require_seeded)
        return print_ids(ids, options.collection, options.count)
    except (InvalidName, ValueError) as error:
        parser.error(str(error))
    except (*REDIS_ERRORS, IndexError) as error:  # the latter: a cluster whose nodes have no slots
        print("hilo.py:", error, file=sys.stderr)
        return Unavailable.code


if __name__ == "__main__":
    sys.exit(main())
