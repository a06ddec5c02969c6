# shellcheck shell=bash
# Two masters that issue plain numbers, each from its own interval: north is lost while the fleet works, and then comes back empty.

part_intervals() {
  begin intervals compose.yaml compose.intervals.yaml
  bring_up 3
  doctor --redis north=redis://operator@north:6379 --redis south=redis://operator@south:6379
  goes_on 'with plain numbers'
  docker kill "$(container north)" >/dev/null
  say 'north is killed'
  within 120 'south serves' more_than 0 counter south Ranges
  goes_on 'without north'
  check 'south issues numbers of its own interval' more_than 1000000000000 counter south Max
  docker start "$(container north)" >/dev/null
  within 120 'north answers' more_than 0 counter north Ranges
  goes_on 'with both'
  an_emptied_master_stays_empty
  take_down
}
