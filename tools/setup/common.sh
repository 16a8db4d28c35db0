# Messages, log, locks and the reader of dependencies.txt. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

pins=$root/tools/setup/dependencies.txt
state_dir=$root/build/.setup
log=$state_dir/setup.log  # a build writes to one of its own

say() { printf 'tutti: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

hash_of() { sha256sum | cut -c1-16; }

# Runs a command with its output in the log; says what is done and how long it took.
step() {
  local what=$1 begin=$SECONDS status=0
  shift
  say "$what ..."
  printf '\n### %s: %s\n' "$what" "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    say "$what: done in $((SECONDS - begin)) s"
  else
    say "$what: failed (exit $status), details in $log"
  fi
  return "$status"
}

# Takes the lock of a folder on descriptor 9 until release_lock. Two runs at once would install, configure or build over
# each other.
take_lock() {
  command -v flock >/dev/null || return 0
  exec 9>"$1/.lock"
  if ! flock -n 9; then
    say "waiting for another run of ./tutti to finish its set-up or build ..."
    flock 9
  fi
}

release_lock() { exec 9>&-; }

# Prints the pins without comments and blank lines.
pin_lines() { sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$pins"; }

# group_names KIND WHEN: the names of the groups that match.
group_names() { pin_lines | awk -v kind="$1" -v when="$2" '$1 == "group" && $3 == kind && $4 == when { print $2 }'; }

# group_items NAME: the lines of a group.
group_items() { pin_lines | awk -v name="$1" '$1 == "group" { inside = ($2 == name); next } inside'; }

# group_loss NAME: what is lost without the group.
group_loss() {
  pin_lines | awk -v name="$1" '$1 == "group" && $2 == name { $1 = $2 = $3 = $4 = ""; sub(/^ +/, ""); print }'
}

# The cache is outside the tree, so that a new clone need not download again.
choose_cache() {
  cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tutti
  if ! mkdir -p "$cache" 2>/dev/null || [[ ! -w $cache ]]; then
    cache=$root/build/.cache
    mkdir -p "$cache"
  fi
}

# version_at_least HAVE WANT
version_at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n1) == "$2" ]]; }
