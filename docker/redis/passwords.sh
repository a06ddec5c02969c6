#!/bin/sh
# Gives every user of the fleet a password and hands each to the one who needs it, in a volume that only they mount.
#
# A password is $HILO_<USER>_PASSWORD, else the secret /run/secrets/<user>-password, else the one of before, else a new
# one of 192 bits. Needs a shell with the tools of busybox or coreutils, and root (see compose.yaml).
set -eu
umask 077

workers=/hand/workers operators=/hand/operators servers=/hand/servers watchers=/hand/watchers
hilo=65532 redis=999 grafana=472 prometheus=65534

# put FILE OWNER writes standard input; its group is ours, so that we can read it the next time.
put() {
  rm -f "$1.new"
  cat >"$1.new"
  chmod 0440 "$1.new"
  chown "$2:0" "$1.new"
  mv "$1.new" "$1"
}

# password USER GIVEN FILE OWNER settles the password of a user, in the file, and leaves it in $settled.
password() {
  if [ -n "$2" ]; then
    settled=$2
  elif [ -s "/run/secrets/$1-password" ]; then
    settled=$(cat "/run/secrets/$1-password")
  elif [ -s "$3" ]; then
    settled=$(cat "$3")
  else
    settled=$(head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
  fi
  printf '%s\n' "$settled" | put "$3" "$4"
}

# hash of $settled, as a rule of an ACL: a copy of the file gives no password away.
hash() { printf '#%s' "$(printf '%s' "$settled" | sha256sum | cut -d ' ' -f 1)"; }

password worker "${HILO_WORKER_PASSWORD:-}" $workers/password $hilo
worker=$(hash)
password operator "${HILO_OPERATOR_PASSWORD:-}" $operators/password $hilo
operator=$(hash)
password replica "${HILO_REPLICA_PASSWORD:-}" $servers/replica-password $redis
replica=$(hash)
printf 'masteruser replica\nmasterauth %s\n' "$settled" | put $servers/replica.conf $redis
password sentinel "${HILO_SENTINEL_PASSWORD:-}" $servers/sentinel-password $redis
sentinel=$(hash)
password grafana "${HILO_GRAFANA_PASSWORD:-}" $watchers/password $grafana
# The page of hilo top reads the counters with rights of its own, and shows them to those who have the token.
password watcher "${HILO_WATCHER_PASSWORD:-}" $watchers/watcher-password $hilo
watcher=$(hash)
password top "${HILO_TOP_TOKEN:-}" $watchers/top-token $hilo
printf '%s\n' "$settled" | put $operators/top-token $hilo
# The token of the gateway's callers, of which Prometheus is one; operators hand it out.
password gateway "${HILO_GATEWAY_TOKEN:-}" $workers/gateway-token $hilo
printf '%s\n' "$settled" | put $operators/gateway-token $hilo
printf '%s\n' "$settled" | put $watchers/gateway-token $prometheus

# Nobody logs in as the default user. It keeps all rights nevertheless: Redis reads its AOF as this user, and where it
# has none the transactions in there, which is what scripts write, are dropped without an error.
default='user default off resetpass ~* &* +@all'
# Anybody may ask whether a server is well, and nothing else; health checks are this user.
health='user health on nopass resetkeys resetchannels -@all +ping +role'
# An operator reads and writes all there is, and does not empty, stop or reconfigure a server.
operator="user operator on $operator ~* &* +@all -@dangerous +info +keys +role +config|get +client|list +latency|latest +acl|log +acl|whoami"
# Of a cluster an operator also puts the parts together.
operator="$operator +cluster -cluster|reset -cluster|flushslots"

# The least that a worker can do its work with. Without +info it is refused at every counter; the last two are asked for in
# a cluster only.
worker_rules='-@all +evalsha +eval +hmget +hset +hdel +exists +time +info +hello +client|setinfo +cluster|slots +asking'

{
  echo "$default"
  echo "$health"
  echo "$operator"
  echo "user worker on $worker ~{Raven}/* resetchannels $worker_rules"
  echo "user watcher on $watcher ~{Raven}/* resetchannels -@all +info +scan +hmget +config|get +hello +client|setinfo" \
    "+cluster|slots +cluster|keyslot +cluster|nodes +asking"
  # Replicas and Sentinel, as the documentation of Redis has them.
  echo "user replica on $replica resetkeys resetchannels -@all +psync +replconf +ping"
  echo "user sentinel on $sentinel resetkeys &* -@all +multi +exec +slaveof +ping +subscribe +publish +info +role" \
    "+config|rewrite +client|setname +client|kill +script|kill +hello"
} | put $servers/users.acl $redis

# Whom a Sentinel lets in: workers ask it for the primary.
{
  echo "$default"
  echo "$health"
  echo "user worker on $worker resetkeys &* -@all +ping +hello +subscribe +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas"
  echo "user watcher on $watcher resetkeys &* -@all +ping +hello +subscribe +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas"
  echo "user operator on $(echo "$operator" | cut -d ' ' -f 4) resetkeys &* +@all -@dangerous +sentinel +info +role"
  echo "user sentinel on $sentinel ~* &* +@all"
} | put $servers/sentinel.acl $redis

echo 'Every user has a password.'
