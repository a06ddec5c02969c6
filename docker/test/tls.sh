# shellcheck shell=bash
# TLS with certificates on both sides, and what is refused.

part_tls() {
  docker/certificates.sh "$work/tls" >/dev/null
  docker/certificates.sh "$work/other" >/dev/null
  chmod 0711 "$work" "$work/tls" "$work/other" # for containers, which look as users of their own
  export HILO_TLS_FOLDER=$work/tls
  begin tls compose.yaml compose.tls.yaml
  tls=(--tls --cacert /run/secrets/ca.crt --cert /run/secrets/server.crt --key /run/secrets/server.key)
  bring_up 2
  hardened
  doctor
  goes_on 'over TLS'
  run hilo list >"$work/list" 2>&1 || fail "hilo list over TLS: $(cat "$work/list")"
  check 'hilo list over TLS shows the counters' grep --quiet orders "$work/list"
  run redis-cli -h south ping >"$work/ping" 2>&1 || fail "redis-cli over TLS: $(cat "$work/ping")"

  refused 'a wrong authority' 'authority' -v "$work/other:/other:ro" -e HILO_TLS_CA=/other/ca.crt
  refused 'a certificate of a wrong authority' 'certificate' -v "$work/other:/other:ro" -e HILO_TLS_CERT=/other/client.crt -e HILO_TLS_KEY=/other/client.key
  refused 'no certificate' 'certificate' -e HILO_TLS_CERT= -e HILO_TLS_KEY=
  refused 'no TLS' '' -e HILO_REDIS_URL=redis://operator@north:6379 -e HILO_TLS_CA= -e HILO_TLS_CERT= -e HILO_TLS_KEY=
  a_worker_is_refused
  sums_add_up
  take_down
  unset HILO_TLS_FOLDER
}

# refused WHAT WORD OPTIONS... wants hilo with these options to get nothing, and to say the word.
refused() {
  local code=0
  run "${@:3}" hilo list >"$work/refused" 2>&1 || code=$?
  [[ $code == 3 ]] || fail "$1: exit code $code, want 3: $(cat "$work/refused")"
  grep --quiet "$2" "$work/refused" || fail "$1: $(cat "$work/refused")"
  say "refused: $1: $(grep 'hilo: ' "$work/refused" | tail --lines 1)"
}

# a_worker_is_refused: it gets nothing of a server that it cannot trust, and is not ready.
a_worker_is_refused() {
  compose run --detach --no-deps -T -v "$work/other:/other:ro" -e HILO_TLS_CA=/other/ca.crt worker >"$work/refused" 2>&1 || fail "a worker with a wrong authority: $(cat "$work/refused")"
  local id
  id=$(tail --lines 1 "$work/refused")
  within 120 'a worker with a wrong authority gives its reason' logs_of "$id" 'unknown authority'
  ! docker exec "$id" /hilo probe http://127.0.0.1:8080/readyz >/dev/null 2>&1 || fail 'a worker with a wrong authority is ready'
  docker stop --time 30 "$id" >/dev/null
  logs_of "$id" '"msg":"ended","reserved":0,' || fail "a worker with a wrong authority took ids: $(docker logs "$id" 2>&1)"
  docker rm "$id" >/dev/null
  say 'refused: a worker with a wrong authority, which takes 0 ids'
}

logs_of() { docker logs "$1" 2>&1 | grep "$2" >/dev/null; }
