# Messages, log, locks and the reader of dependencies.txt. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

pins=$root/tools/setup/dependencies.txt
hashes=$root/tools/setup/hashes.txt
state_dir=$root/build/.setup
log=$state_dir/setup.log  # a build has its own log

# Whether the user declines that anything is installed. Not passed on: it is no setting of the built command.
declined=${TUTTI_NO_INSTALL:-0}
unset TUTTI_NO_INSTALL

say() { printf 'tutti: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

[[ $declined == [01] ]] || die "TUTTI_NO_INSTALL=$declined is not accepted; accepted: 0, 1"

hash_of() { sha256sum | cut -c1-16; }

# step TEXT COMMAND...: runs the command with its output in the log; prints TEXT, the result and the time taken.
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

# take_lock FOLDER: locks the folder on descriptor 9 until release_lock, so that two runs do not install, configure or
# build at the same time.
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

# group_names KIND WHEN: prints the names of the groups that match.
group_names() { pin_lines | awk -v kind="$1" -v when="$2" '$1 == "group" && $3 == kind && $4 == when { print $2 }'; }

# group_items NAME: prints the lines of a group.
group_items() { pin_lines | awk -v name="$1" '$1 == "group" { inside = ($2 == name); next } inside'; }

# group_loss NAME: prints the features that are lost without the group.
group_loss() {
  pin_lines | awk -v name="$1" '$1 == "group" && $2 == name { $1 = $2 = $3 = $4 = ""; sub(/^ +/, ""); print }'
}

# The cache is outside the tree, so that a new clone does not download again.
choose_cache() {
  cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tutti
  if ! mkdir -p "$cache" 2>/dev/null || [[ ! -w $cache ]]; then
    cache=$root/build/.cache
    mkdir -p "$cache"
  fi
}

# version_at_least HAVE WANT: succeeds if HAVE >= WANT.
version_at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n1) == "$2" ]]; }
