# shellcheck shell=bash
# Finds the engine, the compose tool and the base images.

need_engine() {
  local version
  command -v docker >/dev/null || fail 'there is no docker here: install Docker, this test is nothing without'
  version=$(timeout 20 docker version --format '{{.Server.Version}}' 2>&1) ||
    fail "no Docker engine answers: start it, this test is nothing without. It says: $version"
  say "Docker engine $version"
}

find_compose() {
  if docker compose version >/dev/null 2>&1; then
    compose_tool=(docker compose)
  elif command -v docker-compose >/dev/null; then
    compose_tool=(docker-compose)
  else
    fail 'there is neither docker compose nor docker-compose here: install either'
  fi
  say "$("${compose_tool[@]}" version --short | sed 's/^/compose /')"
}

# find_images takes the images that the compose files name, if a registry has them, and stand-ins if not.
find_images() {
  if timeout 30 docker manifest inspect redis:8 >/dev/null 2>&1; then
    say 'images of the registry'
    registry=yes
    return
  fi
  say 'NO REGISTRY can be reached: stand-ins of Debian packages take the place of the base images'
  registry=
  docker/test/standins.sh >"$work/stand-ins" 2>"$work/stand-ins.log" || {
    tail --lines 30 "$work/stand-ins.log" >&2
    fail 'no stand-ins could be made'
  }
  set -a
  # shellcheck source=/dev/null
  . "$work/stand-ins"
  set +a
  say "$(paste --serial --delimiters ' ' "$work/stand-ins")"
}
