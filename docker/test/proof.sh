# shellcheck shell=bash
# The proof that nothing was given twice, from what workers reported and from the documents themselves.

# keep_reports keeps what the workers that there are have written, on standard output their reports.
keep_reports() {
  local id
  for id in $(containers worker); do
    docker logs "$id" >"$logs/$id.out" 2>"$logs/$id.err"
  done
}

# scale_down N is scale, and keeps what those wrote that are removed.
scale_down() {
  local id followers=()
  for id in $(containers worker); do
    docker logs --follow "$id" >"$logs/$id.out" 2>"$logs/$id.err" &
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

# stop_workers stops all, gracefully, and keeps their reports.
stop_workers() {
  local ids
  mapfile -t ids < <(containers worker)
  docker stop --time 30 "${ids[@]}" >/dev/null
  keep_reports
  local code
  for code in $(docker inspect --format '{{.State.ExitCode}}' "${ids[@]}"); do
    [[ $code == 0 ]] || fail "a worker ended with exit code $code"
  done
}

# reports prints the sums of all reports.
reports() {
  cat "$logs"/*.out | jq --slurp --compact-output 'def sum(f): map(f) | add;
    {shifts: length, ids: sum(.ids), stored: sum(.stored), duplicates: sum(.duplicates), unstored: sum(.unstored),
     reserved: sum(.total.reserved), issued: sum(.total.issued), returned: sum(.total.returned), burnt: sum(.total.burnt),
     notReturned: sum(.notReturned), waits: sum(.total.waits), errors: sum(.errors.servers)}'
}

# writers prints of each writer how many documents are its, and how many it has written. A document's value is its
# writer's name and a number that counts up: one that found its key taken would be missing in the count.
writers() {
  # shellcheck disable=SC2016 # that is for the shell in there
  docker exec --env REDISCLI_AUTH "$(container documents)" sh -c \
    'redis-cli "$@" --scan --count 1000 | xargs -n 500 redis-cli "$@" mget' sh ${tls[@]+"${tls[@]}"} --user operator --no-auth-warning |
    awk '{ n = substr($2, 2) + 0; count[$1]++; if (n > most[$1]) most[$1] = n }
      END { for (writer in count) print writer, count[writer], most[writer] }' | sort
}

# nothing_twice stops all workers and compares their reports with the documents.
nothing_twice() {
  stop_workers
  local sums keys
  sums=$(reports)
  keys=$(stored)
  say "$sums"
  jq --exit-status '.duplicates == 0 and .unstored == 0 and .ids == .stored and .reserved == .issued + .returned + .burnt' \
    <<<"$sums" >/dev/null || fail 'the reports of the workers do not add up'
  check "$keys documents, as many as the workers stored" equal "$keys" "$(jq .stored <<<"$sums")"
  writers >"$work/writers"
  check "$(wc --lines <"$work/writers") writers, and of each the documents that it reported, without a gap" \
    equal "$(awk '{ print $1, $2, $3 }' "$work/writers")" \
    "$(cat "$logs"/*.out | jq --slurp --raw-output '.[] | select(.stored > 0) | "\(.worker) \(.stored) \(.ids)"' | sort)"
  ((keys > 1000)) || fail 'that are too few to prove anything'
}
