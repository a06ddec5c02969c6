#!/bin/sh
# Makes a cluster of the nodes named, three primaries with a replica each, unless they are one already.
set -eu

REDISCLI_AUTH=$(cat /run/hilo/password)
export REDISCLI_AUTH
redis() { redis-cli --user operator --no-auth-warning "$@"; }
formed() { redis -h "$1" cluster info | grep -q cluster_state:ok; }

# A primary takes no writes before its replica has all.
replicated() { redis -h "$1" info replication | grep -Eq 'min_slaves_good_slaves:[1-9]|master_link_status:up'; }

addresses=
for node in "$@"; do
  addresses="$addresses $(getent hosts "$node" | cut -d ' ' -f 1):6379" # nodes meet by address only
done
if ! formed "$1"; then
  # shellcheck disable=SC2086 # one word for each address
  redis --cluster create $addresses --cluster-replicas 1 --cluster-yes
fi
for node in "$@"; do
  until formed "$node" && replicated "$node"; do sleep 0.2; done
done
echo 'The cluster stands.'
