#!/usr/bin/env python3
"""Plays vectors.json on a server and says what differs: python3 play.py URL

It writes in namespace Vectors only, and makes a user for those steps that name one; both are gone at the end. The
exit code is 5 where something differs.
"""

import json
import pathlib
import sys

import redis

import hilo


def play(url):
    client = redis.Redis.from_url(url, socket_timeout=2)
    with open(pathlib.Path(__file__).with_name("vectors.json"), encoding="utf-8") as file:
        vectors = json.load(file)
    origin = client.info("replication")["master_replid"]
    clients = {None: client}
    for name, rules in vectors["users"].items():
        client.execute_command("ACL", "SETUSER", name, "reset", *rules)
        password = next(rule[1:] for rule in rules if rule.startswith(">"))
        clients[name] = redis.Redis.from_url(url, username=name, password=password, socket_timeout=2)
    wrong = []
    marks = {}  # what stands for what, in this case

    def fill(text):
        for mark, value in marks.items():
            text = text.replace(mark, value)
        return text

    def request(step):
        def filled(texts):
            return list(map(fill, texts))
        to = clients[step.get("user")]
        try:
            if "script" in step:
                got = hilo.Script(step["script"]).run(to, step["keys"], filled(step["args"]))
                if step["script"] in ("next", "identity"):
                    marks.setdefault(f"<written {got[0].decode()}>", got[12].decode())
            else:
                got = to.execute_command(*filled(step["command"]))
        except redis.exceptions.ResponseError as error:
            return None, str(error).removeprefix("ERR ").split(" ")[0]
        return got, None

    def same(got, want):
        if isinstance(want, list):
            return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
        if want is None or got is None:
            return got is want
        text = got.decode() if isinstance(got, bytes) else str(got)
        return want == "<any>" or text == fill(want)

    for case in vectors["cases"]:
        client.delete(*vectors["keys"])
        marks.clear()
        marks["<origin>"] = origin
        for place, step in enumerate(case["steps"], 1):
            got, tag = request(step)
            if tag != step.get("error") or "reply" in step and not same(got, step["reply"]):
                wrong.append(f"{case['name']}: step {place}: {tag or got}, want {step.get('error') or step['reply']}")
    client.delete(*vectors["keys"])
    for name in vectors["users"]:
        client.execute_command("ACL", "DELUSER", name)

    def check(table, right):
        wrong.extend(f"{table}: {row}" for row in vectors[table]["rows"] if not right(row))

    ids = hilo.Client(client, namespace="Vectors")
    check("names", lambda row: ids._counter("HiLo/", "Identities/", row["name"])[1][0] == row["key"])
    check("refused", lambda row: refusal(ids, row["name"]) is not None and row["for"] in refusal(ids, row["name"]))
    check("texts", lambda row: hilo.identifier(row["collection"], "/", row["prefix"], int(row["number"]), row["tag"]) == row["text"])
    check("capacities", lambda row: hilo.next_capacity(row["last"], row["seconds"]) == row["want"])
    check("gaps", lambda row: hilo.least_gap(int(row["issued"]), int(row["seconds"]), row["since"]) == int(row["gap"]))
    print(*wrong, f"{len(vectors['cases'])} cases, {len(wrong)} faults", sep="\n")
    return 5 if wrong else 0


def refusal(ids, name):
    """Returns why a client refuses a name, or None."""
    try:
        ids._counter("HiLo/", "Identities/", name)
    except hilo.InvalidName as error:
        return str(error)
    return None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(play(sys.argv[1]))
