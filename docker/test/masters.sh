# shellcheck shell=bash
# Two masters, north and south: each is lost and comes back while the fleet works and changes its size.

part_masters() {
  begin masters compose.yaml
  bring_up 5
  hardened
  roots_are_read_only
  doctor --redis north=redis://operator@north:6379 --redis south=redis://operator@south:6379
  goes_on 'after the start'
  slow_counter -e HILO_REDIS_URL=redis://operator@north:6379
  ranges_come_back
  verify_begins -e HILO_REDIS_URL='north=redis://operator@north:6379 south=redis://operator@south:6379'
  lose_both_masters
  bring_both_back
  verify_ends
  watch_the_fleet
  ask_the_gateway
  rolling_restart
  sums_add_up
  which_prefixes
  an_emptied_master_stays_empty
  take_down
}

# roots_are_read_only tries what hardened reads from the settings.
roots_are_read_only() {
  ! docker exec "$(container north)" sh -c 'echo >/here' 2>/dev/null || fail 'a file could be written to the root of north'
  say 'north cannot write to its root'
}

# ranges_come_back stops the fleet while both masters serve: what it held is in the counters again, to the last number
# that nobody was given a range after.
ranges_come_back() {
  local before
  before=$(container_ids_of_workers)
  stop_workers
  local all rose
  all=$(sums)
  say "$all"
  jq --exit-status '.returned > 0' <<<"$all" >/dev/null || fail 'no worker returned anything'
  rose=$(($(counter north Max) - 1000 + $(counter south Max) - 4000))
  check "ranges came back: the counters rose by $rose, by what was issued and could not be returned" \
    equal "$rose" "$(jq '.reserved - .returned' <<<"$all")"
  # shellcheck disable=SC2086 # one word for each
  docker start $before >/dev/null
  within 120 'the fleet is back' healthy worker 5
  load_begins
}

container_ids_of_workers() { containers worker | paste --serial --delimiters ' '; }

lose_both_masters() {
  docker kill "$(container north)" >/dev/null
  say 'north is killed'
  within 120 'south serves' more_than 0 counter south Ranges
  goes_on 'without north'

  docker network disconnect "${project}_default" "$(container south)"
  say 'south is cut off'
  goes_on 'without any master, from what is in hand'
  scale 7
  say 'two more workers start while no master serves'
}

bring_both_back() {
  local ranges
  docker network connect --alias south "${project}_default" "$(container south)"
  docker start "$(container north)" >/dev/null
  say 'north and south are back'
  within 120 'north answers' more_than 0 counter north Ranges
  ranges=$(counter north Ranges)
  within 120 'all 7 workers are healthy' healthy worker 7
  within 120 'north issues ranges again' more_than "$ranges" counter north Ranges
  follows_closely 'after the kill' -e HILO_REDIS_URL=redis://operator@north:6379
  scale_down 3
  within 120 '3 workers are left' equal_count 3
  goes_on 'as a fleet of 3'
}

equal_count() { [[ $(count worker) == "$1" ]]; }

# rolling_restart restarts one worker after the other, and says what became of the numbers that they held.
rolling_restart() {
  local id before after
  keep_logs
  before=$(sums)
  for id in $(containers worker); do
    docker restart --time 30 "$id" >/dev/null
    within 120 'a worker is restarted and healthy' healthy_container "$id"
  done
  keep_logs
  after=$(sums)
  equal "$(jq .ends <<<"$after")" $(($(jq .ends <<<"$before") + 3)) || fail 'not every worker ended in order'
  say "rolling restart: $(jq --null-input --raw-output --argjson was "$before" --argjson is "$after" \
    '"\($is.returned - $was.returned) numbers returned, \($is.burnt - $was.burnt) could not be and are gaps"')"
  goes_on 'after the rolling restart'
}

healthy_container() { [[ $(docker inspect --format '{{.State.Health.Status}}' "$1") == healthy ]]; }

# which_prefixes: both masters gave.
which_prefixes() {
  local given
  given=$(issued_ids | cut --delimiter / --fields 2 | sort | uniq --count | paste --serial --delimiters ' ')
  say "ids by prefix: $given"
  [[ $given == *NorthServer*SouthServer* ]] || fail 'want ids of both masters'
}

# an_emptied_master_stays_empty removes north with its volume. A plain up starts it again and does not seed it, and the
# workers refuse to use it.
an_emptied_master_stays_empty() {
  docker rm --force "$(container north)" >/dev/null
  docker volume rm "${project}_north" >/dev/null
  up --scale worker=1
  within 120 'north is up again, without its volume' healthy north 1
  within 120 'a worker refuses an emptied master' logged 'out of use for its settings'
  check 'an emptied master stays empty' equal "$(redis north dbsize)" 0
}

logged() { docker logs "$(container worker)" 2>&1 | grep "$1" >/dev/null; } # to its end: docker logs must not fail
