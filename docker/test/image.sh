# shellcheck shell=bash
# The image: built with BuildKit and without, small, of no root, and labelled.

image=hilo-test
service_image=hilo-test-service
stage=hilo-test-build # what the image is built in, kept for its caches
most_mib=28 # and of the service, which has hilo beside it:
most_mib_of_service=48

part_image() {
  build_image
  check_image $image $most_mib version
  check_image $service_image $most_mib_of_service
  build_with_buildkit
}

# build_image builds without BuildKit, which every engine can.
build_image() {
  build docker $stage --target build
  build docker $image
  build docker $service_image --target service
  say 'built without BuildKit'
  export HILO_IMAGE=$image HILO_SERVICE_IMAGE=$service_image
}

# build CLIENT TAG ARGUMENTS... builds the Dockerfile, and removes what had the tag before. DOCKER_BUILDKIT tells how;
# unset is without.
build() {
  local client=$1 tag=$2 log=$work/build.log before
  shift 2
  before=$(docker image inspect --format '{{.Id}}' "$tag" 2>/dev/null || true)
  DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0} "$client" build --file docker/Dockerfile --build-arg "GOLANG=${GOLANG_IMAGE:-golang:1.26}" \
    --build-arg VERSION=1.2.3-test --build-arg REVISION=0123abc --tag "$tag" "$@" . >"$log" 2>&1 || {
    tail --lines 40 "$log" >&2
    fail "the image cannot be built: $client build $*"
  }
  if [[ $before && $before != $(inspect "$tag" .Id) ]]; then
    docker rmi "$before" >/dev/null 2>&1 || true # it may be a layer of the new one
  fi
}

# build_with_buildkit starts from the stage of the build before: the same steps, and nothing is compiled twice.
build_with_buildkit() {
  local client
  client=$(buildkit_client) || {
    say 'NO BUILDKIT on this machine (neither buildx nor a client of Docker 18.09 to 22): NOT built with it'
    return
  }
  DOCKER_BUILDKIT=1 GOLANG_IMAGE=$stage build "$client" $image-buildkit
  say "built with BuildKit, by $("$client" --version)"
  check_image $image-buildkit $most_mib version
}

# buildkit_client prints a client that can: one with buildx, or one so old that it has it built in.
buildkit_client() {
  local client
  for client in $(type -ap docker); do
    if "$client" buildx version >/dev/null 2>&1 || [[ $("$client" version --format '{{.Client.Version}}') =~ ^(18\.09|19|20|21|22)\. ]]; then
      echo "$client"
      return
    fi
  done
  return 1
}

# check_image IMAGE MIB ARGUMENTS... runs it with the arguments; the service, which has none, refuses to start without a server.
check_image() {
  local size user label
  size=$(inspect "$1" .Size)
  ((size < $2 * 1024 * 1024)) || fail "$1 has $size bytes, want less than $2 MiB"
  user=$(inspect "$1" .Config.User)
  check "$1: user 65532:65532" equal "$user" 65532:65532
  for label in title description source documentation licenses; do
    [[ $(label "$1" $label) ]] || fail "$1 has no label $label"
  done
  equal "$(label "$1" version) $(label "$1" revision)" '1.2.3-test 0123abc' || fail "$1: labels version and revision"
  docker run --rm --read-only --network none --cap-drop ALL "$1" "${@:3}" >"$work/run.log" 2>&1 || grep --quiet HILO_REDIS_URL "$work/run.log" ||
    fail "$1 does not run: $(cat "$work/run.log")"
  say "$1: $(awk "BEGIN { printf \"%.1f\", $size / 1048576 }") MiB of $2, labels, runs with a read-only root"
}

inspect() { docker image inspect --format "{{$2}}" "$1"; }
label() { inspect "$1" "index .Config.Labels \"org.opencontainers.image.$2\""; }
