#!/bin/sh
# Starts a Sentinel that watches the primary of the name $1, which is at the address $2 when it is first started. Sentinel
# keeps what it learns in its configuration, which therefore is in a volume of its own, and is made only once.
set -eu
umask 077

conf=/data/sentinel.conf
if [ ! -f "$conf" ]; then
  password=$(cat /run/hilo/sentinel-password)
  cat >"$conf.new" <<END
port 26379
dir /data
aclfile /run/hilo/sentinel.acl
sentinel sentinel-user sentinel
sentinel sentinel-pass $password
sentinel monitor $1 $2 6379 2
sentinel auth-user $1 sentinel
sentinel auth-pass $1 $password
sentinel down-after-milliseconds $1 2000
sentinel failover-timeout $1 10000
END
  mv "$conf.new" "$conf"
fi
exec redis-server "$conf" --sentinel
