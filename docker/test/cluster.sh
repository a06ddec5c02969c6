# shellcheck shell=bash
# A cluster of three primaries with a replica each: the one that holds the counters is killed.

part_cluster() {
  begin cluster compose.yaml compose.cluster.yaml
  bring_up 3
  hardened
  doctor
  goes_on 'on the cluster'
  slow_counter
  up --no-deps prometheus # for answers
  within 120 'every worker holds numbers for longer than a takeover takes' \
    answers 'min(hilo_runway_seconds) > 20 and count(hilo_runway_seconds) == 3'

  local owner next epoch
  verify_begins
  owner=$(owner node-1 node-2 node-3 node-4 node-5 node-6)
  epoch=$(counter "$owner" Epoch)
  docker kill "$(container "$owner")" >/dev/null
  say "$owner, which has the counters, is killed"
  within 120 'its replica took over' taken_over "$owner"
  next=$(cat "$work/owner")
  goes_on "with $next, from what is in hand: it has no replica yet"
  docker start "$(container "$owner")" >/dev/null
  within 120 "$owner is the replica of $next now" role_is "$owner" slave
  within 120 "$next gives ranges, above a jump" more_than "$epoch" counter "$next" Epoch
  follows_at_a_distance 'after the takeover'
  goes_on 'with the cluster whole again'
  verify_ends
  sums_add_up
  take_down
}

# owner prints which of the nodes is a primary and has the counters.
owner() {
  local node
  for node in "$@"; do
    if role_is "$node" master && [[ $(redis "$node" exists '{Raven}/HiLo/orders' 2>/dev/null) == 1 ]]; then
      echo "$node"
      return
    fi
  done
  return 1
}

# taken_over leaves the name of the new owner in $work/owner.
taken_over() {
  local nodes=(node-1 node-2 node-3 node-4 node-5 node-6)
  owner "${nodes[@]/#$1/}" >"$work/owner"
}
