# shellcheck shell=bash
# What all parts of docker/test.sh are made of: saying, failing, waiting.

title() { printf '\n-- %s (%d s)\n' "$*" "$SECONDS"; }
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

fail() {
  printf '%4d s  FAILED: %s\n' "$SECONDS" "$*" >&2
  exit 1
}

# check WHAT COMMAND... fails if the command does.
check() {
  local what=$1
  shift
  "$@" || fail "$what"
  say "$what"
}

# within LIMIT WHAT COMMAND... tries until the command succeeds, and fails after LIMIT seconds.
within() {
  local limit=$1 what=$2 began=$SECONDS
  shift 2
  until "$@"; do
    ((SECONDS - began < limit)) || fail "$what: not within $limit s"
    sleep 0.3
  done
  say "$what, after $((SECONDS - began)) s"
}

equal() {
  [[ $1 == "$2" ]] || {
    echo "is $1, want $2" >&2
    return 1
  }
}

more_than() { (($("${@:2}") > $1)); }

# unexpected says where a command failed that nobody looked at.
unexpected() { printf '%4d s  FAILED: %s:%s: %s\n' "$SECONDS" "${BASH_SOURCE[1]}" "${BASH_LINENO[0]}" "$BASH_COMMAND" >&2; }

# leave CODE ends docker/test.sh: it shows what a failure may have come from, and leaves nothing behind.
leave() {
  trap - EXIT ERR
  trap '' HUP INT PIPE TERM # nothing is to keep us from taking down, not even that nobody reads what we say
  set +e
  if [[ $1 != 0 && ${project:-} ]]; then
    show_project
  fi
  [[ ! ${project:-} ]] || take_down
  [[ ! ${work:-} ]] || rm --recursive --force "$work"
  exit "$1"
}
