# shellcheck shell=bash
# One primary, two replicas and three Sentinels: the workers are there first, the primary is killed.

part_sentinel() {
  export HILO_SUBNET=10.203.$((1 + $$ % 255))
  begin sentinel compose.yaml compose.sentinel.yaml
  workers_first 3
  first_up --scale worker=3
  within 120 'all is healthy' all_well
  load_begins
  hardened
  doctor
  goes_on 'with two replicas'
  slow_counter

  local next epoch
  verify_begins
  epoch=$(counter redis-1 Epoch)
  docker kill "$(container redis-1)" >/dev/null
  say 'the primary is killed'
  within 120 'Sentinel made another the primary' promoted
  next=$(cat "$work/primary")
  within 120 "$next gives ranges, above a jump" more_than "$epoch" counter "$next" Epoch
  follows_at_a_distance 'after the failover'
  goes_on "with $next"
  docker start "$(container redis-1)" >/dev/null
  within 120 'the old primary is a replica now' role_is redis-1 slave
  goes_on 'with all three'
  verify_ends
  sums_add_up
  take_down
}

# workers_first starts the workers before any Redis: they stay and try on.
workers_first() {
  up --scale "worker=$1" worker
  within 120 "$1 workers are there, and no Redis is" trying "$1"
  ! healthy worker "$1" || fail 'workers say that they are ready, without a Redis'
}

# trying N: so many workers run, and have said what they wait for.
trying() {
  local id said=0
  for id in $(containers worker); do
    docker logs "$id" 2>&1 | grep 'not ready yet, retrying' >/dev/null && [[ $(docker inspect --format '{{.State.Running}} {{.RestartCount}}' "$id") == 'true 0' ]] &&
      said=$((said + 1))
  done
  ((said == $1))
}

# promoted leaves the name of the primary that the Sentinels name in $work/primary.
promoted() {
  local address
  address=$(redis sentinel-1 -p 26379 sentinel get-master-addr-by-name counters 2>/dev/null | head --lines 1)
  [[ $address =~ \.1[23]$ ]] || return 1
  echo "redis-${address: -1}" >"$work/primary"
  role_is "$(cat "$work/primary")" master
}

role_is() { [[ $(redis "$1" role 2>/dev/null | head --lines 1) == "$2" ]]; }
