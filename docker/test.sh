#!/bin/bash
# Proves the image and the compose files on a machine with a Docker engine:
#
#   docker/test.sh                    all parts
#   docker/test.sh image masters      these only; the others are intervals, sentinel, cluster, tls
#
# Every part brings up a project of its own and takes it down again, with what was in it, also when a check fails. Where
# no registry can be reached it makes stand-ins for the base images first (docker/test/standins.sh), as root.
# Needs docker, docker compose or docker-compose, curl, jq and openssl. Images are left behind: they make the next run fast.
set -Eeuo pipefail
exec </dev/null
cd "$(dirname "$(readlink --canonicalize "$0")")/.."

. docker/test/lib.sh
. docker/test/engine.sh
. docker/test/image.sh
. docker/test/fleet.sh
. docker/test/proof.sh
. docker/test/watch.sh
. docker/test/gateway.sh
. docker/test/masters.sh
. docker/test/intervals.sh
. docker/test/sentinel.sh
. docker/test/cluster.sh
. docker/test/tls.sh

parts=(image masters intervals sentinel cluster tls)
(($# == 0)) || parts=("$@")
for part in "${parts[@]}"; do
  [[ $part =~ ^(image|masters|intervals|sentinel|cluster|tls)$ ]] || {
    echo "docker/test.sh has no part $part: see its head" >&2
    exit 2
  }
done

trap unexpected ERR
trap 'leave $?' EXIT
trap 'exit 1' HUP INT PIPE TERM
work=$(mktemp --directory)

need_engine
find_compose
find_images
[[ ${parts[0]} == image ]] || build_image
for part in "${parts[@]}"; do
  title "$part"
  "part_$part"
done
title 'all is well'
