# shellcheck shell=bash
# A project of the compose files: bringing it up, looking into it, and taking it down.

# begin NAME FILE... begins a project of the compose files. Passwords are random; the test keeps the operator's.
begin() {
  project=hilo-test-$1-$$
  setup=setup # the profile that seeds
  [[ $1 != sentinel && $1 != cluster ]] || setup+=-$1
  local file
  files=()
  for file in "${@:2}"; do
    files+=(--file "docker/$file")
  done
  tls=()
  logs=$work/$project
  mkdir "$logs"
  REDISCLI_AUTH=$(head --bytes 16 /dev/urandom | od --address-radix n --format x1 | tr --delete ' \n')
  export REDISCLI_AUTH HILO_OPERATOR_PASSWORD=$REDISCLI_AUTH
  export HILO_PROMETHEUS_PORT=0 HILO_GRAFANA_PORT=0 HILO_GATEWAY_PORT=0 HILO_TOP_PORT=0
}

compose() { timeout 150 "${compose_tool[@]}" --project-name "$project" "${files[@]}" "$@"; }

# up ARGUMENTS... is compose up.
up() {
  compose up --detach "$@" >"$work/up.log" 2>&1 || {
    tail --lines 40 "$work/up.log" >&2
    fail "compose up $* in $project"
  }
}

# scale N makes it so many workers, and touches nothing else.
scale() { up --no-deps --no-recreate --scale "worker=$1" worker; }

# run SERVICE ARGUMENTS... runs a container of the profile "tools", or one more worker.
run() { compose run --rm --no-deps -T "$@"; }

# mine prints filters for the containers of the project, and of the service $1 of it.
mine() {
  printf -- '--filter\nlabel=com.docker.compose.project=%s\n' "$project"
  [[ ! ${1:-} ]] || printf -- '--filter\nlabel=com.docker.compose.service=%s\n--filter\nlabel=com.docker.compose.oneoff=False\n' "$1"
}

containers() {
  local filters
  mapfile -t filters < <(mine "${1:-}")
  docker ps --all --quiet "${filters[@]}"
}

count() { containers "$1" | wc --lines; }

# container prints the one container of a service.
container() { containers "$1" | grep . || fail "there is no container of $1"; }

# healthy SERVICE N: so many containers of a service are.
healthy() {
  local filters
  mapfile -t filters < <(mine "$1")
  [[ $(docker ps --quiet --filter health=healthy "${filters[@]}" | wc --lines) == "$2" ]]
}

# all_well: every container is healthy, or has done its job.
all_well() {
  local filters ill
  mapfile -t filters < <(mine)
  ill=$(docker ps --all --format '{{.Names}} {{.Status}}' "${filters[@]}" | grep --invert-match --extended-regexp '\(healthy\)|Exited \(0\)' || true)
  [[ ! $ill ]]
}

# first_up ARGUMENTS... is up for the first time: it seeds.
first_up() { COMPOSE_PROFILES=$setup up "$@"; }

# bring_up N brings up everything with N workers, from nothing.
bring_up() {
  local began=$SECONDS
  first_up --scale "worker=$1"
  within 120 'all is healthy' all_well
  say "from nothing to healthy: $((SECONDS - began)) s, $(count worker) workers"
  load_begins
}

# redis SERVICE ARGUMENTS... asks a Redis as the operator.
redis() {
  local id
  id=$(container "$1")
  docker exec --env REDISCLI_AUTH "$id" redis-cli ${tls[@]+"${tls[@]}"} --user operator --no-auth-warning "${@:2}"
}

# counter SERVICE FIELD COLLECTION prints what stands in a counter, 0 if it cannot be had.
counter() {
  local value
  value=$(redis "$1" hget "{Raven}/HiLo/${3:-orders}" "$2" 2>/dev/null) || true
  [[ $value =~ ^[0-9]+$ ]] || value=0
  echo "$value"
}

# addresses prints those of the workers that are ready. Others would keep an order waiting.
addresses() {
  local filters ids
  mapfile -t filters < <(mine worker)
  mapfile -t ids < <(timeout 5 docker ps --quiet --filter health=healthy "${filters[@]}")
  ((${#ids[@]} == 0)) || timeout 5 docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}' "${ids[@]}" | awk '{ print $1 }'
}

# load_begins creates orders at all workers, about a hundred a second at each, until load_ends, or for ten minutes. The ids are in
# $logs/ids.* afterwards.
load_begins() {
  load &
  loading=$!
}

load_ends() {
  [[ ${loading:-} ]] || return 0
  kill "$loading" 2>/dev/null || true
  wait "$loading" 2>/dev/null || true
  loading=
}

load() {
  trap - ERR EXIT
  trap exit TERM
  set +e
  local address all end=$((SECONDS + 600))
  while ((SECONDS < end)); do
    all=$(addresses 2>/dev/null)
    for _ in 1 2 3 4; do
      for address in $all; do
        create_orders "$address" &
      done
      sleep 0.25
      wait
    done
  done
}

# create_orders ADDRESS creates some orders at a worker, over one connection, in 5 seconds at most.
create_orders() {
  timeout 5 curl --silent --fail --fail-early --connect-timeout 2 --data '{}' "http://$1:8080/orders?[1-25]" |
    sed --quiet 's/^{"id":"\(.*\)"}$/\1/p' >>"$logs/ids.$1"
}

# issued_ids prints all ids of the orders that were created.
issued_ids() { cat "$logs"/ids.* 2>/dev/null || true; }

# taken prints how many orders were created.
taken() { issued_ids | wc --lines; }

# goes_on WHEN: the workers issue ids.
goes_on() {
  local before
  before=$(taken)
  within 120 "workers go on $1" more_than $((before + 100)) taken
}

# hardened: no container may write its root or is of root, but the one for which compose.yaml gives the reason.
hardened() {
  local id service user root caps options
  for id in $(containers); do # of those that run, the processes too
    read -r service user root caps options < <(docker inspect --format '{{index .Config.Labels "com.docker.compose.service"}} {{.Config.User}}'$' '\
'{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}' "$id")
    [[ $root == true ]] || fail "$service may write its root"
    [[ $caps == '[ALL]' && $options == '[no-new-privileges:true]' ]] || fail "$service: capabilities $caps, options $options"
    [[ $user =~ ^[1-9][0-9]*:[0-9]+$ || $service == passwords ]] || fail "$service runs as $user"
    ! docker top "$id" -eo uid,pid 2>/dev/null | grep --quiet '^ *0 ' || fail "$service has a process of root"
  done
  say "$(containers | wc --lines) containers: read-only roots, no capabilities, none of root but the one-shot that makes the passwords"
}

# doctor ARGUMENTS... examines the servers as an operator, and wants nothing found.
doctor() {
  run hilo doctor "$@" >"$work/doctor" 2>"$work/doctor.err" || fail "hilo doctor: $(cat "$work/doctor" "$work/doctor.err")"
  equal "$(tail --lines 1 "$work/doctor")" '0 faults, 0 warnings, 0 unknown' || fail "hilo doctor: $(cat "$work/doctor")"
  say "hilo doctor looked at $(grep --count '^ok' "$work/doctor") things and found no fault"
}

# take_down takes all of the project away, and fails if anything stays.
take_down() {
  load_ends
  compose --profile "$setup" --profile watch --profile gateway --profile tools down --volumes --remove-orphans --timeout 5 >"$work/down.log" 2>&1 || cat "$work/down.log" >&2
  local of=label=com.docker.compose.project=$project left
  left=$(docker ps --all --quiet --filter "$of" && docker volume ls --quiet --filter "$of" && docker network ls --quiet --filter "$of")
  project=
  [[ ! $left ]] || fail "compose down left $left"
  say 'compose down --volumes left no container, no volume and no network'
}

# show_project shows what a failure may have come from.
show_project() {
  local id
  docker ps --all --filter "label=com.docker.compose.project=$project" --format '{{.Names}}: {{.Status}}'
  for id in $(containers); do
    printf '\n== %s\n' "$(docker inspect --format '{{.Name}}' "$id")"
    docker logs --tail 8 "$id" 2>&1
  done
} >&2
