# shellcheck shell=bash
# The profile "gateway": identifiers over HTTP, from the counters of the fleet, for those who have the token.

ask_the_gateway() {
  up --no-deps gateway
  within 120 'the gateway is ready' healthy gateway 1
  hardened
  local token ids identity
  token=$(run --entrypoint cat redis-cli /run/hilo/gateway-token)
  ! post ids/orders 'nobody told me' >/dev/null 2>&1 || fail 'the gateway served somebody with a wrong token'
  ids=$(post 'ids/orders?count=3' "$token") || fail 'the gateway gave no ids'
  jq --exit-status '.ids | length == 3 and all(test("^orders/(NorthServer|SouthServer)/[0-9]+$"))' <<<"$ids" >/dev/null ||
    fail "the gateway gave $ids"
  identity=$(post identities/companies "$token") || fail 'the gateway gave no identity'
  # north was seeded to 90.
  jq --exit-status '.ids | length == 1 and (.[0] | test("^companies/[0-9]+$") and (ltrimstr("companies/") | tonumber) > 90)' <<<"$identity" >/dev/null ||
    fail "the gateway gave $identity"
  say "the gateway gave $(jq --compact-output .ids <<<"$ids") and $(jq --compact-output .ids <<<"$identity"), and nothing for a wrong token"
  within 120 'Prometheus scrapes the gateway' answers 'up{job="gateway"} == 1'
  docker stop --time 30 "$(container gateway)" >/dev/null
  check 'it ends in order' equal "$(docker inspect --format '{{.State.ExitCode}}' "$(container gateway)")" 0
}

# post PATH TOKEN asks from within the network, where Prometheus has a client.
post() {
  docker exec "$(container prometheus)" wget -q -O - --header "Authorization: Bearer $2" --post-data '' "http://gateway:8080/v1/$1"
}
