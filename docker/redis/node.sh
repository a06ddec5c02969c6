#!/bin/sh
# Starts a Redis that Sentinel may make a primary or a replica: what Sentinel says is written to its configuration,
# which therefore stands beside the data, and is made only once. The argument is the address of its first primary, if any.
set -eu

conf=/data/redis.conf
if [ ! -f "$conf" ]; then
  {
    echo 'include /etc/hilo/replicated.conf'
    [ $# -eq 0 ] || echo "replicaof $1 6379"
  } >"$conf.new"
  mv "$conf.new" "$conf"
fi
exec redis-server "$conf"
