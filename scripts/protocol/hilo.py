#!/usr/bin/env python3
"""A small client of hilo's counters in Redis, to use and to translate.

    python3 hilo.py --redis redis://127.0.0.1:6379/0 --count 3 orders

prints orders/1 to orders/3, with the server's prefix and tag if it has them. In a program:

    with contextlib.closing(hilo.Client(redis.Redis.from_url(url, socket_timeout=2))) as ids:
        ids.next("orders")              # "orders/4"
        ids.next_identity("companies")  # "companies/1"

It requires redis-py 4 or later (Debian: python3-redis) and the scripts in the same directory. PROTOCOL.md lists the
client's duties; comments refer to them by number.
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
import weakref

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
NOT_PRIMARY = (redis.exceptions.ReadOnlyError, redis.exceptions.MasterDownError)


class Error(Exception):
    code = 1  # what the program exits with


class InvalidName(Error):
    code = 2  # a collection, namespace or separator that breaks a rule


class Unavailable(Error):
    code = 3  # the server did not answer in time


class NotDurable(Unavailable):
    pass  # too few replicas acknowledged the numbers, which are not used


class Refused(Error):
    code = 4  # refused by a rule; the text begins with the tag, such as HILO_EXHAUSTED


class Script:
    """One of the scripts in this directory."""

    def __init__(self, name):
        self.text = pathlib.Path(__file__).with_name(name + ".lua").read_bytes()
        self.sha1 = hashlib.sha1(self.text).hexdigest()

    def run(self, client, keys, args):
        try:
            return client.evalsha(self.sha1, len(keys), *keys, *args)
        except redis.exceptions.NoScriptError:  # not run; EVAL runs it and caches it on the server
            return client.eval(self.text, len(keys), *keys, *args)

    def run_and_wait(self, client, keys, args, replicas):
        """Runs the script and WAIT behind it on one connection, which is what WAIT covers. Returns the reply and whether that
        many replicas have it."""
        cluster, client = client, primary_of(client, keys[0])
        wait_ms = 1000
        timeout = client.get_connection_kwargs().get("socket_timeout")
        if timeout and timeout * 1000 < 2 * wait_ms:  # WAIT ends before the connection does
            wait_ms = max(1, int(timeout * 500))
        while True:
            with client.pipeline(transaction=False) as pipe:
                pipe.execute_command("EVALSHA", self.sha1, len(keys), *keys, *args)
                pipe.execute_command("WAIT", replicas, wait_ms)
                reply, acknowledged = pipe.execute(raise_on_error=False)
            if not isinstance(reply, redis.exceptions.NoScriptError):
                break
            client.script_load(self.text)  # nothing ran, and the WAIT beside it means nothing
        if cluster is not client and isinstance(reply, redis.exceptions.AskError):  # MOVED too
            cluster.nodes_manager.initialize()
            raise redis.exceptions.ConnectionError(str(reply))
        if isinstance(reply, Exception):
            raise reply
        return reply, isinstance(acknowledged, int) and acknowledged >= replicas


def primary_of(client, key):
    """Returns a client of the node that has a key. A cluster client sends a WAIT, which has no key, to any node."""
    if isinstance(client, redis.RedisCluster):
        return client.get_redis_connection(client.get_node_from_key(key))
    return client


class Counter:
    """The client's state of one counter."""

    def __init__(self, floor=0, epoch=0, lowered=0, tallies=(0, 1, 0.0), bare=0, ranges=0):
        # Duty 2: one request at a time for each counter, since each request carries the floor that the last one left.
        self.lock = threading.Lock()
        self.floor = floor  # the greatest number issued to this client
        self.epoch = epoch  # the greatest epoch seen
        self.lowered = lowered  # of an identity: how often it was lowered by force, the greatest seen
        self.ranges = ranges  # of a collection: how many ranges it had issued, as of the last reply
        self.bare = bare  # the greatest number issued to this client without prefix and tag
        self.tallies = tallies  # issued and seconds of the last reply, and the time of that reply
        self.capacity, self.asked = 0, 0.0  # of the last range, and when it was requested
        self.pending = None  # token, count and time of a request without a reply
        self.range = None
        self.stale = False  # copied from the parent process by fork, and replaced

    def forked(self):
        """Returns what a child process may keep. The parent may still return the rest of its range, but not what was
        used of it, so the floor ends there."""
        floor = self.range.used if self.range else self.floor
        self.stale, self.range, self.pending = True, None, None
        return Counter(floor, self.epoch, self.lowered, self.tallies, self.bare, self.ranges)

    def least_gap(self):
        issued, seconds, at = self.tallies
        return least_gap(issued, seconds, time.monotonic() - at) if self.floor else 0

    def check_process(self):
        """Raises an error where a fork interrupted this call, by a signal handler or a coroutine: the parent continues
        the same call, and its number is the parent's."""
        if self.stale:
            raise Error("the process was forked during this call: call again")


class Range:
    """Duty 8: a range with everything that came with it. Its numbers are never combined with another range's prefix."""

    def __init__(self, token, reply):
        self.token = token
        self.low, self.high, self.epoch = number(reply[1]), number(reply[2]), number(reply[3])
        self.prefix, self.tag = reply[4], reply[5]
        self.jump, self.evidence = number(reply[6]), reply[7]
        self.issued, self.seconds, self.ranges = number(reply[8]), number(reply[9]), number(reply[11])
        self.written = number(reply[12])
        self.used = self.low - 1  # the last number issued to a caller


class Client:
    """Issues identifiers from one server. It is safe for concurrent use by threads.

    client is redis-py's Redis, RedisCluster or a Sentinel's master_for(), with a socket_timeout, which limits one attempt;
    timeout limits all attempts of a call, in seconds. close() returns the unused numbers.

    After os.fork the child continues as a client of its own: ranges and requests in flight stay with the parent, and the
    child's close() returns only what the child took. redis-py opens new connections in the child, except with
    single_connection_client=True, which cannot be shared with a child."""

    def __init__(self, client, namespace="Raven", separator="/", min_capacity=32, max_capacity=1048576, limit=LARGEST,
                 require_seeded=False, require_prefix=False, timeout=10.0):
        check_name("namespace", namespace, "{}")
        # Without this rule, orders + 11 and orders1 + 1 could have the same text.
        if (len(separator) != 1 or separator.isalnum() or unusable(fold(separator), "|") or separator.upper() != separator.lower()
                or not_nfc(separator)):
            raise InvalidName(f"separator {separator!r}: one character in NFC, no letter, digit, white space, format character or |")
        self.client, self.root, self.separator = client, "{" + namespace + "}/", separator
        self.min_capacity, self.max_capacity, self.limit = min_capacity, max_capacity, limit
        self.flags, self.timeout = [int(require_seeded), int(require_prefix)], timeout
        self.replicas = 0  # Duty 15: how many have to acknowledge a number, as of the last reply
        self.stopped = False  # true ends the retries
        self.scripts = {name: Script(name) for name in ("next", "return", "identity")}
        self.lock = threading.Lock()  # of what follows
        self.counters, self.closed = {}, False
        clients.add(self)

    def next(self, collection):
        """Returns the next identifier of a collection. It sends a request only when the range in hand is used up."""
        counter, keys = self._counter("HiLo/", "Identities/", collection)
        with counter.lock:
            held = counter.range
            if held is None or held.used == held.high:
                held = counter.range = self._next_range(counter, keys, collection)
            held.used += 1  # Duty 10
            text = identifier(collection, self.separator, held.prefix, held.used, held.tag)
            counter.check_process()
            return text

    def next_identity(self, name):
        """Returns the next value of an identity, as an identifier without prefix and tag. Each call sends a request."""
        counter, keys = self._counter("Identities/", "HiLo/", name)
        with counter.lock:
            request = (secrets.token_hex(16), 1, time.monotonic())
            got, lowered = self._take("identity", counter, keys, name, request, [counter.lowered, 0, 0])
            counter.lowered = max(counter.lowered, number(lowered))
            counter.check_process()
            return name + self.separator + str(got.low)

    def close(self):
        """Returns the unused numbers. It raises the last error if some could not be returned, which leaves a gap."""
        with self.lock:
            counters, self.closed = list(self.counters.items()), True
        failed = None
        for key, counter in counters:
            with counter.lock:
                held, counter.range = counter.range, None
                try:  # Duty 11: with the token, epoch and time of this range; safe to send twice
                    if held and held.used < held.high:
                        self._retry(key, lambda: self.scripts["return"].run(
                            self.client, [key], [held.token, held.high, held.used, held.epoch, held.written]))
                except Error as error:
                    failed = type(error)(f"{key}: {held.used + 1}..{held.high} not returned: {error}")
        if failed:
            raise failed

    def _forked(self):
        """Runs in a child process, before anything else. The locks may be held by threads that the child does not have."""
        self.lock = threading.Lock()
        self.counters = {key: counter.forked() for key, counter in self.counters.items()}

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
            counter.pending = (secrets.token_hex(16), capacity, now)  # Duty 1: a unique token
        # Duty 1: a request without a reply, of this call or the one before, is sent again unchanged, with its token.
        request, counter.pending = counter.pending, None
        try:
            got, _ = self._take("next", counter, keys, collection, request, [])
        except NotDurable:
            raise
        except Unavailable:
            counter.pending = request  # it may have run
            raise
        _, counter.capacity, counter.asked = request
        check_additions(keys[1], got.prefix)
        return got

    def _take(self, script, counter, keys, name, request, more):
        """Sends a request for numbers, checks the reply and records its floor, epoch and tallies."""
        token, count, _ = request
        other = self.counters.get(keys[2])  # Duty 14
        gap = counter.least_gap()
        if script == "identity" and other:  # it may jump past numbers of the collection
            gap = max(gap, other.least_gap())
        args = [token, count, self.limit, counter.floor, counter.epoch, gap, name, *self.flags, other.bare if other else 0, 0]
        reply, confirmed = self._call(script, keys, args, more)
        # Duty 7: a malformed reply, or the reply to another request, is rejected.
        if len(reply) not in (16, 19) or reply[0] != token:
            if hasattr(self.client, "connection_pool"):
                self.client.connection_pool.disconnect()  # it may still carry replies to other requests
            raise Error(f"{keys[0]}: not the reply to request {token}: {reply}")
        got = Range(token, reply)
        self.replicas = number(reply[18]) if len(reply) == 19 else 0
        if not confirmed:  # Duty 15: not used, not returned, and neither floor nor epoch
            raise NotDurable(f"{keys[0]}: numbers {got.low}..{got.high} are not used: fewer replicas than required have them")
        floor = counter.floor
        if script == "identity" and number(reply[13]) > counter.lowered:
            floor = 0  # an identity lowered on purpose starts a new floor
        least, greatest = (number(reply[16]), number(reply[17])) if len(reply) == 19 else (1, LARGEST)
        if not max(floor, least - 1) < got.low <= got.high <= min(self.limit, greatest, got.low + count - 1):
            raise Error(f"{keys[0]}: numbers {got.low}..{got.high} for {count} above {floor}")
        # Duty 4: a collection that was made anew.
        anew = script == "next" and not got.evidence and got.ranges <= counter.ranges and got.epoch <= counter.epoch
        counter.ranges = got.ranges
        # Duties 3, 4, 5: floor, epoch and tallies of the newest reply.
        counter.floor, counter.epoch = max(floor, got.high), max(counter.epoch, got.epoch)
        counter.tallies = got.issued, got.seconds, time.monotonic()
        if script == "identity" or not got.prefix and not got.tag:
            counter.bare = max(counter.bare, got.high)
        if anew and counter.epoch < LARGEST:
            print(f"hilo.py: {keys[0]}: it was made anew: {got.low}..{got.high} are not used", file=sys.stderr)
            counter.epoch += 1
            return self._take(script, counter, keys, name, request, more)
        if got.evidence:  # Duty 12
            print(f"hilo.py: {keys[0]}: writes may have been lost ({got.evidence}): it jumped by {got.jump}", file=sys.stderr)
        if reply[14] not in ("", "always"):
            print(f"hilo.py: {keys[1]}: Durable was removed ({reply[14]})", file=sys.stderr)
        # Without prefix and tag the collection and the identity of one name have the same texts. The server refuses the
        # second kind, but of two concurrent requests not after it lost the first one's key. Each kind records its number
        # before it reads the other's, so that at least one is refused.
        other = self.counters.get(keys[2])
        if not got.prefix and not got.tag and other and other.bare:
            raise Refused(f"HILO_MIXED {keys[0]}: {keys[2]} issued numbers without prefix and tag to this client: use another name")
        return got, reply[13]

    def _call(self, script, keys, args, more):
        """Runs a script that issues numbers. Returns the reply, and whether as many replicas as the server requires have it."""
        def send():
            for last in (False, True):
                awaited, request = self.replicas, [*args, self.replicas, 0, *more]
                try:
                    if awaited:
                        return self.scripts[script].run_and_wait(self.client, keys, request, awaited)
                    return self.scripts[script].run(self.client, keys, request), True
                except redis.exceptions.ResponseError as error:  # Duty 15: learn the number, and send the request again
                    required = re.match("(?:ERR )?HILO_REPLICAS ([1-9][0-9]*) ", str(error))
                    if last or not required:
                        raise
                    self.replicas = int(required[1])
        reply, confirmed = self._retry(keys[0], send)
        return [item.decode(errors="surrogateescape") if isinstance(item, bytes) else item for item in reply], confirmed

    def _retry(self, key, send):
        """Sends a request until it is answered. Every attempt sends the same arguments, including the token."""
        wait, until = 0.1, time.monotonic() + self.timeout
        while True:
            try:
                return send()
            except REDIS_ERRORS as error:
                if isinstance(error, redis.exceptions.TimeoutError) or not_primary(error):
                    forget_connections(self.client)
                lasting = outcome(key, error)
                pause = wait * random.uniform(0.5, 1)  # jitter, so that a fleet does not retry in step
                if lasting or self.stopped or time.monotonic() + pause >= until:
                    raise lasting or Unavailable(f"{key}: {error}") from error
                time.sleep(pause)
                wait = min(2 * wait, 1.0)


clients = weakref.WeakSet()  # of this process


def after_fork_in_child():
    for client in clients:
        client._forked()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=after_fork_in_child)


def outcome(key, error):
    """Converts an error of redis-py. It returns None for one worth a retry: a server that is down, loading or a replica."""
    text = str(error).removeprefix("ERR ")
    if text.startswith("HILO_"):  # refused, nothing written; a retry has the same result
        return (Error if text.startswith(("HILO_CORRUPT ", "HILO_ARGUMENT ")) else Refused)(text)
    if text.startswith(("MOVED ", "ASK ")):  # RedisCluster follows these by itself
        return Error(f"{key} is on another node of a cluster: use RedisCluster, or redis+cluster://")
    if isinstance(error, redis.exceptions.AuthenticationError) or text.startswith(LOGIN):
        return Unavailable(f"{key}: {text}")
    if isinstance(error, PASSING) or text.startswith(PASSING_WORDS) or not_primary(error):
        return None
    return Error(f"{key}: {text}")


def not_primary(error):
    """Reports whether a server replied that it is not a primary. redis-py removes the first word of some errors and has
    classes for them. Proxies begin with ERR."""
    if isinstance(error, NOT_PRIMARY):
        return True
    text = str(error)
    return "HILO_" not in text and ("READONLY " in text or "MASTERDOWN " in text)


def forget_connections(client):
    """Closes the idle connections of a client. Those that are in use either time out as well or prove that they work."""
    pools = [getattr(client, "connection_pool", None)]
    if hasattr(client, "get_nodes"):  # a cluster
        pools = [node.redis_connection.connection_pool for node in client.get_nodes() if node.redis_connection]
    for pool in filter(None, pools):
        try:
            pool.disconnect(inuse_connections=False)
        except TypeError:  # a BlockingConnectionPool of redis-py 4 closes all; their requests are sent again
            pool.disconnect()
    if getattr(client, "connection", None):  # with single_connection_client
        client.connection.disconnect()


def identifier(collection, separator, prefix, value, tag):
    """Returns the text of an identifier. Nothing separates prefix and number; a dash precedes the tag."""
    return collection + separator + prefix + str(value) + ("-" + tag if tag else "")


def next_capacity(last, since, smallest=32, largest=1048576):
    """Duty 6: returns the next capacity: double if the last range was requested within 30 s, half after 60 s."""
    if not last or since is None:
        return smallest
    if since < 30:
        return min(2 * last, largest)
    return max(last // 2, smallest) if since > 60 else last


def least_gap(issued, seconds, since):
    """Duty 5: returns twice the tallies last seen or twice what their rate gives since then, whichever is greater."""
    return min(2 * max(issued, math.ceil(since * issued / max(seconds, 1))), LARGEST)


def fold(name):
    """Returns a name without letter case, as in keys. Each character becomes the lower case of its upper case, as long as
    each of the two is a single character."""
    def one(character):
        upper = character.upper() if len(character.upper()) == 1 and character != "ı" else character
        return upper.lower() if len(upper.lower()) == 1 else upper
    return "".join(map(one, name))


def unusable(text, reserved):
    """Returns the first character of text that is not allowed, or None: reserved, white space, a control, a format character
    (Cf, mostly invisible), a surrogate (which stands for bytes that are not UTF-8), or a code point that Unicode has not
    assigned (Cn). A later version of Unicode may assign that one a letter case, and a key would change."""
    return next((c for c in text if c in reserved or c.isspace() or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn")), None)


def not_nfc(text):
    """Returns what text is in NFC, which looks alike, or None if it is in NFC."""
    nfc = unicodedata.normalize("NFC", text)
    return nfc if nfc != text else None


def differing(a, b):
    """Returns a and b without what both begin and end with."""
    begin = len(os.path.commonprefix([a, b]))
    end = len(os.path.commonprefix([a[begin:][::-1], b[begin:][::-1]]))
    return a[begin:len(a) - end], b[begin:len(b) - end]


def code_points(text):
    return " ".join(f"U+{ord(c):04X}" for c in text)


def check_name(what, name, reserved):
    size = len(name.encode(errors="surrogateescape"))
    if not 1 <= size <= 128:
        raise InvalidName(f"{what} {name!r} is {size} bytes long: 1 to 128")
    bad, nfc = unusable(name, reserved), not_nfc(name)
    if bad:
        kind = ", a format character" if unicodedata.category(bad) == "Cf" else ""
        raise InvalidName(f"{what} {name!r} holds {bad!r} ({code_points(bad)}{kind}), which is not allowed: choose another")
    if nfc:
        held, wanted = differing(name, nfc)
        raise InvalidName(f"{what} {name!r} is not in NFC: it holds {code_points(held)} where NFC has {code_points(wanted)}; "
                          f"in NFC it is {nfc!r}, which looks alike")


def check_additions(key, prefix):
    """Duty 9: checks what the script cannot, for want of Unicode, so that each identifier reads in one way only."""
    if (unusable(prefix, "|{}") or not_nfc(prefix) or prefix[-1:].isdecimal()
            or re.search("[0-9]-[A-Za-z][A-Za-z0-9]*$", fold(prefix))):
        raise Error(f"{key}: ServerPrefix {prefix!r} cannot be part of an identifier")


def number(text):
    if isinstance(text, str) and re.fullmatch("0|[1-9][0-9]{0,18}", text) and int(text) <= LARGEST:
        return int(text)
    raise Error(f"{text!r} is not a number of 63 bits")


def print_ids(ids, name, count):
    """Prints identifiers and returns the exit code. SIGINT and SIGTERM end it; unused numbers are returned."""
    sys.stdout.reconfigure(encoding="utf-8")
    printing = False

    def stop(*_):
        nonlocal printing
        ids.stopped, waiting, printing = True, printing, False
        if waiting:  # for a reader of stdout, without limit: the only wait that a signal interrupts
            raise KeyboardInterrupt("interrupted")

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
                raise KeyboardInterrupt("interrupted")
    except (KeyboardInterrupt, OSError) as error:
        code, problem, printing = 1, error, False
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes stdout at exit
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
    """Returns a client for a URL of redis-py (redis://, rediss://, unix://) or redis+cluster:// with any node's address."""
    if url.startswith("redis+cluster://"):
        return redis.RedisCluster.from_url(url.replace("redis+cluster", "redis", 1), socket_timeout=2)
    return redis.Redis.from_url(url, socket_timeout=2)


def main():
    parser = argparse.ArgumentParser(prog="hilo.py", description="Prints identifiers of a collection, one per line.")
    parser.add_argument("--redis", metavar="URL", default=os.environ.get("HILO_REDIS_URL", "redis://127.0.0.1:6379/0"))
    parser.add_argument("--namespace", default="Raven")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=10.0, help="how long to retry while the server is down, in seconds")
    parser.add_argument("--require-prefix", action="store_true", help="refuse a server with neither prefix nor tag")
    parser.add_argument("--require-seeded", action="store_true", help="refuse a counter that does not exist")
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
