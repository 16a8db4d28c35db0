# Set-up: finds the dependencies, installs missing ones and remembers the result in build/.setup. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

declare -A wheel_roots=()
prefix=
key=
asking=0  # 1: ./tutti setup NAME runs

# The groups that were asked for are remembered per clone: the cache may have them for another one.
asked_groups() { cat "$state_dir/asked" 2>/dev/null || true; }

# ask_for NAME...: remembers the groups NAME-pypi instead of those of an earlier call.
ask_for() {
  local name accepted
  accepted=$(group_names wheel asked | sed 's/-pypi$//' | paste -sd ' ')
  for name in "$@"; do
    [[ " $accepted " == *" $name "* ]] || die "setup $name is not accepted; accepted: nothing, or $accepted"
  done
  mkdir -p "$state_dir" 2>/dev/null || die "cannot create the folder $state_dir"
  asking=1
  rm -f "$state_dir/asked"
  if (($#)); then printf '%s-pypi\n' "$@" >"$state_dir/asked"; fi
}

# get_asked_groups: those that ./tutti setup NAME has installed. Their download is too large to be repeated by a build
# because the pins have changed.
get_asked_groups() {
  local group
  local -a items
  for group in $(asked_groups); do
    mapfile -t items < <(group_items "$group")
    if ((asking)) || [[ -e $(wheels_folder "$group" "${items[@]}")/.complete ]]; then
      get_wheels "$group"
    else
      wheel_roots["$group"]=
      say "$group has other pins now: './tutti setup ${group%-pypi}' gets it again; continuing without it"
    fi
  done
}

# choose_groups LEVEL: sets debian_groups and wheel_groups to the groups of the level, run or test.
choose_groups() {
  mapfile -t debian_groups < <(group_names debian run; [[ $1 == run ]] || group_names debian test)
  mapfile -t wheel_groups < <(group_names wheel run; [[ $1 == run ]] || group_names wheel test)
  if [[ $1 != run ]]; then mapfile -t -O "${#wheel_groups[@]}" wheel_groups < <(asked_groups); fi
}

cmake_usable() {
  command -v cmake >/dev/null && version_at_least "$(cmake --version 2>/dev/null | awk 'NR == 1 { print $3 }')" 3.25
}

# remember LEVEL: stores the result of this set-up for later runs.
remember() {
  local group
  {
    printf 'key %s\nprefix %s\n' "$key" "$prefix"
    for group in "${!wheel_roots[@]}"; do printf 'wheel %s %s\n' "$group" "${wheel_roots[$group]}"; done
  } >"$state_dir/$1.new"
  mv "$state_dir/$1.new" "$state_dir/$1"
}

# recall LEVEL: reuses an earlier set-up if the pins and scripts are the same and its folders still exist.
recall() {
  local word a b remembered=
  [[ -r $state_dir/$1 ]] || return
  while read -r word a b; do
    case $word in
      key) remembered=$a ;;
      prefix) prefix=$a ;;
      wheel) wheel_roots[$a]=$b ;;
    esac
  done <"$state_dir/$1"
  if [[ $remembered == "$key" && (-z $prefix || -d $prefix) ]]; then
    for a in "${!wheel_roots[@]}"; do
      b=${wheel_roots[$a]}
      [[ -z $b || -e $b/.complete ]] || { forget; return 1; }
    done
    return 0
  fi
  forget
  return 1
}

# The set-up for tests includes everything that a run needs.
recall_any() { recall "$1" || { [[ $1 == run ]] && recall test; }; }

forget() {
  prefix=
  wheel_roots=()
}

# Makes the results of the set-up visible to the build and to the built command.
use_setup() {
  use_prefix
  if [[ -n ${wheel_roots[build-tools]:-} ]]; then export PATH=${wheel_roots[build-tools]}/bin:$PATH; fi
  export TUTTI_INTEL_MPI_ROOT=${TUTTI_INTEL_MPI_ROOT:-${wheel_roots[intel-mpi]:-}}
  export TUTTI_ONECCL_ROOT=${TUTTI_ONECCL_ROOT:-${wheel_roots[oneccl]:-}}
  export TUTTI_CUDA_ROOT=${TUTTI_CUDA_ROOT:-${wheel_roots[cuda]:-}}
  export TUTTI_PERFETTO_ROOT=${TUTTI_PERFETTO_ROOT:-${wheel_roots[perfetto]:-}}
  export TUTTI_HOROVOD_ROOT=${TUTTI_HOROVOD_ROOT:-${wheel_roots[horovod]:-}}
  export TUTTI_TORCH2_ROOT=${TUTTI_TORCH2_ROOT:-${wheel_roots[torch-2]:-}}
  if [[ -n ${wheel_roots[torch-pypi]:-} ]]; then
    export TUTTI_TORCH_PYTHON=${TUTTI_TORCH_PYTHON:-${wheel_roots[torch-pypi]}/bin/python3}
  fi
  export TUTTI_MPI4PY_ROOT=${TUTTI_MPI4PY_ROOT:-${wheel_roots[mpi4py]:-}}
}

# group_state GROUP: prints "ready" or "missing: ITEMS".
group_state() {
  local missing
  if [[ -v wheel_roots[$1] ]]; then
    [[ -n ${wheel_roots[$1]} ]] && printf 'ready' || printf 'missing: %s' "$(group_items "$1" | paste -sd ' ')"
    return
  fi
  missing=$(missing_packages "$1" | paste -sd ' ')
  [[ -z $missing ]] && printf 'ready' || printf 'missing: %s' "$missing"
}

report_losses() {
  local group state said=0
  for group in "${debian_groups[@]}" "${wheel_groups[@]}"; do
    state=$(group_state "$group")
    [[ $state == ready ]] && continue
    ((said++)) || say "some dependencies could not be installed; continuing without them:"
    say "  $state (lost: $(group_loss "$group"))"
  done
  ((said == 0)) || say "details: $log; run './tutti setup' to try again"
}

print_table() {
  local group
  printf '%-12s %s\n' group state
  for group in "${debian_groups[@]}" "${wheel_groups[@]}"; do
    printf '%-12s %s\n' "$group" "$(group_state "$group")"
  done
}

# ensure_setup LEVEL: installs the groups of the level, once. Failures are remembered too: the next run does not retry.
ensure_setup() {
  local level=$1 group
  choose_cache
  choose_groups "$level"
  key=$(cat "$root/tutti" "$root"/tools/setup/* /etc/os-release 2>/dev/null | { cat; echo "$EUID $declined"; } | hash_of)
  mkdir -p "$state_dir" 2>/dev/null || die "cannot create the folder $state_dir"
  if recall_any "$level"; then
    use_setup
    return
  fi
  take_lock "$cache"
  if recall_any "$level"; then  # another run did it meanwhile
    release_lock
    use_setup
    return
  fi
  : >"$log"
  get_packages
  if ! have_compiler; then  # not remembered: the next run tries again
    release_lock
    return
  fi
  for group in "${wheel_groups[@]}"; do
    if ! grep -qxF "$group" <(asked_groups); then get_wheels "$group"; fi
  done
  if [[ $level != run ]]; then get_asked_groups; fi
  if ! cmake_usable; then for group in $(group_names wheel fallback); do get_wheels "$group"; done; fi
  remember "$level"
  release_lock
  use_setup
  report_losses
}

require_build_tools() {
  local why='found, and none could be installed (no root, or no network)'
  have_compiler || die "no C++ compiler $why: install g++ and run ./tutti again"
  cmake_usable || die "no cmake 3.25 or newer $why: install it and run ./tutti setup"
  command -v ninja >/dev/null || command -v make >/dev/null ||
    die "no ninja or make $why: install one and run ./tutti setup"
}
