# shellcheck shell=bash
# The proof that no id is issued twice, by hilo verify and by the ids of all orders, and the sums of what workers logged at their end.

# keep_logs keeps what the workers that there are have logged.
keep_logs() {
  local id
  for id in $(containers worker); do
    docker logs "$id" >"$logs/$id.log" 2>&1
  done
}

# scale_down N is scale, and keeps what those wrote that are removed.
scale_down() {
  local id followers=()
  for id in $(containers worker); do
    docker logs --follow "$id" >"$logs/$id.log" 2>&1 &
    followers[$!]=$id
  done
  scale "$1"
  local left pid
  left=$(containers worker)
  for pid in "${!followers[@]}"; do
    ! grep --quiet "${followers[pid]}" <<<"$left" || kill "$pid"
    wait "$pid" 2>/dev/null || true
  done
}

# stop_workers stops all, gracefully, and keeps their logs.
stop_workers() {
  load_ends
  local ids
  mapfile -t ids < <(containers worker)
  docker stop --time 30 "${ids[@]}" >/dev/null
  keep_logs
  local code
  for code in $(docker inspect --format '{{.State.ExitCode}}' "${ids[@]}"); do
    [[ $code == 0 ]] || fail "a worker ended with exit code $code"
  done
}

# sums prints the sums of what the workers logged that ended.
sums() {
  cat "$logs"/*.log | jq --raw-input --compact-output 'fromjson? | select(.msg == "ended")' | jq --slurp --compact-output 'def sum(f): map(f) | add // 0;
    {ends: length, reserved: sum(.reserved), issued: sum(.issued), returned: sum(.returned), burnt: sum(.burnt)}'
}

# verify_begins OPTIONS... starts hilo verify beside the fleet, in a namespace of its own, with workers that it kills.
verify_begins() {
  rm --force "$work/verify.err" # of the fleet before
  run -e HILO_OUTPUT=json "$@" hilo verify --kill-workers --rate 2000 --duration 45s >"$work/verify" 2>"$work/verify.err" &
  verifying=$!
  within 120 'hilo verify runs' grep --quiet 'workers take identifiers' "$work/verify.err"
}

# verify_ends waits for it.
verify_ends() {
  wait "$verifying" || fail "hilo verify: $(cat "$work/verify" "$work/verify.err")"
  jq --exit-status '.proven and .duplicates == 0 and .killed > 0 and .ids > 10000' "$work/verify" >/dev/null || fail "hilo verify: $(cat "$work/verify")"
  say "hilo verify: $(jq --raw-output '"\(.ids) ids, no duplicates, \(.killed) of its workers were killed, \(.outages | length) outages"' "$work/verify")"
}

# sums_add_up stops all workers, and compares what they log with the ids of the orders. The answer to some orders was lost.
sums_add_up() {
  stop_workers
  local ids twice all
  ids=$(taken)
  twice=$(issued_ids | sort | uniq --repeated | head --lines 3)
  [[ ! $twice ]] || fail "two orders have the id $twice"
  all=$(sums)
  say "$ids orders, none of which has the id of another; $all"
  jq --exit-status --argjson ids "$ids" '$ids > 1000 and $ids <= .issued and .reserved == .issued + .returned + .burnt' <<<"$all" >/dev/null ||
    fail 'the sums of the workers do not add up'
}

# slow_counter OPTIONS... seeds a collection that nobody else uses, and issues 32 ids of it.
slow_counter() {
  run "$@" hilo seed slow --max 0 >"$work/slow" 2>&1 || fail "hilo seed: $(cat "$work/slow")"
  run "$@" hilo next slow --count 32 >"$work/slow" 2>"$work/slow.err" || fail "hilo next: $(cat "$work/slow.err")"
  slow=$(tail --lines 1 "$work/slow")
  equal "${slow##*/}" 32 || fail "the slow counter: $(cat "$work/slow")"
}

# follows_closely WHEN OPTIONS... shows the id that follows the restart of a durable master.
follows_closely() { follows 33 200 "$@"; }

# follows_at_a_distance WHEN OPTIONS... shows the id that follows a failover, at most 4.3 million above those before.
follows_at_a_distance() { follows 65536 4300000 "$@"; }

follows() {
  local id
  id=$(run "${@:4}" hilo next slow) || fail 'the slow counter issues nothing any more'
  (("${id##*/}" >= $1 && "${id##*/}" <= $2)) || fail "$slow is followed by $id, want one from $1 to $2"
  say "$3 $slow is followed by $id"
}
