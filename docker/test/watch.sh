# shellcheck shell=bash
# The profile "watch": the page shows every master to those who have the token, Prometheus finds every worker, and every query of the dashboard and every rule works on what it has.

watch_the_fleet() {
  up --no-deps prometheus
  within 120 "Prometheus scrapes $(count worker) workers" scraped "$(count worker)"
  within 120 'the rate of ids is there' answers 'sum(rate(hilo_ids_issued_total[30s])) > 0'
  rules_work
  dashboard_works
  grafana_starts
  open_the_page
}

# open_the_page as a browser does, which sends the token as a password.
open_the_page() {
  local token
  up --no-deps top
  within 120 'the page is healthy' healthy top 1
  hardened
  token=$(run --entrypoint cat redis-cli /run/hilo/top-token)
  ! page nobody / >/dev/null 2>&1 || fail 'the page was shown for a wrong token'
  within 120 'the page shows both masters and their counters' shows "$token"
  check 'the page has both masters before its script runs' drawn "$token"
  docker stop --time 30 "$(container top)" >/dev/null
  check 'it ends in order' equal "$(docker inspect --format '{{.State.ExitCode}}' "$(container top)")" 0
}

# page TOKEN PATH asks from within the network, where Prometheus has a client.
page() { docker exec "$(container prometheus)" wget -q -O - "http://any:$1@top:8081$2"; }

# drawn reads all of the page: a reader that leaves at the first match would make wget fail.
drawn() { [[ $(page "$1" /) == *'data-server="north"'*'data-server="south"'* ]]; }

shows() {
  page "$1" /state | jq --exit-status '
    (.servers | length == 2 and all(.up and .persistence == "AOF always" and .memoryPolicy == "noeviction" and .durable == "always")) and
    (.collections | map(select(.server == "north" and .collection == "orders" and .max > 1000)) | length == 1) and (.identities | length > 0)' >/dev/null
}

# prometheus PATH asks its API.
prometheus() { docker exec "$(container prometheus)" wget -q -O - "http://127.0.0.1:9090/api/v1/$1"; }

query() { prometheus "query?query=$(jq --null-input --raw-output --arg query "$1" '$query | @uri')"; }

answers() { query "$1" 2>/dev/null | jq --exit-status '.data.result | length > 0' >/dev/null; }

scraped() { answers "sum(up{job=\"hilo\"}) == $1"; }

rules_work() {
  local rules
  rules=$(prometheus rules | jq --compact-output '[.data.groups[].rules[]]')
  jq --exit-status 'length > 5 and all(.health != "err")' <<<"$rules" >/dev/null || fail "alert rules: $rules"
  say "$(jq length <<<"$rules") alert rules are loaded and work, firing: $(jq --compact-output '[.[] | select(.state == "firing").name]' <<<"$rules")"
}

# dashboard_works: what nothing happened to has no series yet, everything else must give some.
dashboard_works() {
  local expression total=0 without=0
  while read -r expression; do
    query "$expression" >"$work/answer" 2>&1 || fail "Prometheus refuses $expression"
    total=$((total + 1))
    if jq --exit-status '.data.result | length == 0' "$work/answer" >/dev/null; then
      without=$((without + 1))
      [[ $expression =~ _failures_|_identity_|_epoch_jumps_|_ceiling_seconds|'== 0' ]] || fail "no data for $expression"
    fi
  done < <(queries)
  ((total >= 20)) || fail "the dashboard has only $total queries"
  say "$total queries of the dashboard work, $((total - without)) give data now"
}

# queries prints those of the dashboard, with what Grafana would put in place of its variables.
queries() {
  # shellcheck disable=SC2016
  jq --raw-output '.. | .expr? // empty' docker/grafana/dashboards/hilo.json |
    sed 's/\$__rate_interval/30s/g; s/\$__range/1m/g; s/\$\(job\|server\|collection\)/.*/g'
}

# grafana_starts, where there is an image of it: Debian has none, so there is no stand-in.
grafana_starts() {
  if [[ ! $registry ]] && ! docker image inspect "${GRAFANA_IMAGE:-none}" >/dev/null 2>&1; then
    say 'NO IMAGE OF GRAFANA can be had here: NOT started'
    return
  fi
  up --no-deps grafana
  within 120 'Grafana is healthy' healthy grafana 1
  # shellcheck disable=SC2016 # that is for the shell in there
  check 'Grafana has the dashboard' docker exec "$(container grafana)" sh -c \
    'wget -q -O - "http://admin:$(cat /run/hilo/password)@127.0.0.1:3000/api/dashboards/uid/hilo" | grep -q hilo_ids_issued_total'
}
