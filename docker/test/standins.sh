#!/bin/bash
# Makes stand-ins for the base images where no registry can be reached, of Debian packages and this machine's Go, and
# prints their names as the compose files take them:
#
#   docker/test/standins.sh >stand-ins.env
#   docker-compose --env-file stand-ins.env --file docker/compose.yaml up --detach
#
# Needs root, docker, Go, and the packages busybox-static and prometheus; Redis 8 is that of the trixie that .ci/servers
# makes in HILO_CI_CACHE. An image that is there already stays. There is no Grafana in Debian, and no stand-in for it.
set -euo pipefail

cache=$(readlink --canonicalize-missing "${HILO_CI_CACHE:-/var/cache/hilo-ci}")
trixie=$cache/trixie

exec 3>&1 >&2 # only the names go to stdout

work=$(mktemp --directory)
trap 'rm --recursive --force "$work"' EXIT
root=$work/root

for program in /bin/busybox /usr/bin/prometheus; do
  [[ -x $program ]] || { echo "there is no $program: run .ci/packages busybox-static prometheus" && exit 1; }
done

missing() { ! docker image inspect "$1" >/dev/null 2>&1; }

# begin starts a new root with a shell and its tools.
begin() {
  rm --recursive --force "$root"
  mkdir --parents "$root"/{bin,etc/ssl/certs,tmp}
  chmod 1777 "$root/tmp"
  cp /bin/busybox "$root/bin/busybox"
  local applet
  for applet in $(/bin/busybox --list); do
    [[ $applet == busybox ]] || ln --symbolic busybox "$root/bin/$applet"
  done
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
}

# take copies files of the system at $1 to the same places in the root, and follows links.
take() {
  local from=$1 file
  shift
  for file in "$@"; do
    mkdir --parents "$root/$(dirname "$file")"
    rm --force "$root$file"
    cp --dereference "$from$file" "$root$file"
  done
}

# take_program is take for a program and the libraries that it needs.
take_program() {
  local from=$1 program=$2 libraries
  mapfile -t libraries < <(chroot "${from:-/}" ldd "$program" | grep --only-matching '/[^ ]*')
  take "$from" "$program" "${libraries[@]}"
}

# finish makes an image of the root; all its files are root's but those of $2, which is what a volume there starts as.
finish() {
  local image=$1 owned=$2 owner=$3
  shift 3
  if [[ $owned ]]; then
    mkdir --parents "$root$owned"
    chown "$owner" "$root$owned"
  fi
  tar --create --directory "$root" . | docker import "$@" - "$image"
}

redis=hilo-standin/redis:8
if missing $redis; then
  [[ -x $trixie/usr/bin/redis-server ]] || "$(dirname "$0")/../../.ci/servers"
  begin
  for program in redis-server redis-cli getent; do
    take_program "$trixie" /usr/bin/$program
  done
  mkdir --parents "$root/usr/local/bin" # where the image of Redis has them
  finish $redis /data 999:999 --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' --change 'WORKDIR /data' \
    --change 'CMD ["redis-server"]' --change 'LABEL hilo.standin=1'
fi

golang=hilo-standin/golang:1
if missing $golang; then
  begin
  goroot=$(go env GOROOT)
  mkdir --parents "$root/usr/local/go"
  tar --create --directory "$goroot" --exclude=./test --exclude=./doc --exclude=./api --exclude=./src/cmd \
    --exclude='*_test.go' --exclude=testdata . |
    tar --extract --directory "$root/usr/local/go"
  finish $golang '' '' --change 'ENV PATH=/usr/local/go/bin:/bin' --change 'ENV GOPATH=/go' --change 'ENV GOTOOLCHAIN=local' \
    --change "ENV GOPROXY=$(go env GOPROXY)" --change 'LABEL hilo.standin=1'
fi

prometheus=hilo-standin/prometheus:2
if missing $prometheus; then
  begin
  take_program '' /usr/bin/prometheus
  ln --symbolic ../usr/bin/prometheus "$root/bin/prometheus"
  finish $prometheus /prometheus 65534:65534 --change 'ENTRYPOINT ["/bin/prometheus"]' --change 'LABEL hilo.standin=1'
fi

printf 'REDIS_IMAGE=%s\nGOLANG_IMAGE=%s\nPROMETHEUS_IMAGE=%s\n' $redis $golang $prometheus >&3
