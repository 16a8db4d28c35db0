# Configures and builds a preset. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

configure_preset() {
  local preset=$1 dir=$root/build/$1 stamp want
  local -a arguments=(-S "$root" --preset "$preset" "-DTUTTI_INTEL_MPI_ROOT=$TUTTI_INTEL_MPI_ROOT"
    "-DTUTTI_ONECCL_ROOT=$TUTTI_ONECCL_ROOT" "-DTUTTI_CUDA_ROOT=$TUTTI_CUDA_ROOT"
    "-DTUTTI_PERFETTO_ROOT=$TUTTI_PERFETTO_ROOT" "-DTUTTI_MPI4PY_ROOT=$TUTTI_MPI4PY_ROOT"
    "-DTUTTI_HOROVOD_ROOT=$TUTTI_HOROVOD_ROOT"
    "-DTUTTI_TORCH2_ROOT=$TUTTI_TORCH2_ROOT" "-DTUTTI_TORCH_PYTHON=${TUTTI_TORCH_PYTHON:-/usr/bin/python3}")
  command -v ninja >/dev/null || arguments+=(-G 'Unix Makefiles')
  stamp=$dir/.configured
  # CMake notices changes of its own files; this key covers the rest, including the result of the set-up.
  want=$({
    printf '%s\n' "$root" "${arguments[@]}" "${CC:-}" "${CXX:-}" "${CXXFLAGS:-}"
    cat "$root/CMakePresets.json" "$state_dir"/{run,test} 2>/dev/null || true
  } | hash_of)
  [[ -e $stamp && -e $dir/CMakeCache.txt && $(<"$stamp") == "$want" ]] && return
  # A tree that was configured for another path or compiler cannot be reused: the second try starts from scratch.
  step "configuring ($preset)" cmake "${arguments[@]}" ||
    step "configuring ($preset) from scratch" cmake --fresh "${arguments[@]}" ||
    { tail -n 20 "$log" >&2; return 1; }
  printf '%s\n' "$want" >"$stamp"
}

# has_target DIR TARGET
has_target() { [[ -e $1/build.ninja ]] && ninja -C "$1" -t query "$2" >/dev/null 2>&1; }

# open_build PRESET: takes the lock, begins a new log and configures.
open_build() {
  mkdir -p "$root/build/$1"
  take_lock "$root/build"
  log=$state_dir/$1.log
  : >"$log"
  configure_preset "$1" || die "configuring ($1) failed; full log: $log"
}

configure_only() {
  open_build "$1"
  release_lock
}

# build_preset PRESET TARGET: builds TARGET, or all if the project has no such target.
build_preset() {
  local preset=$1 dir=$root/build/$1 target=$2
  open_build "$preset"
  has_target "$dir" "$target" || target=all
  if [[ ! -e $dir/build.ninja ]]; then
    step "building ($preset)" cmake --build "$dir" --target "$target" -j "$(nproc)" || show_build_failure
  elif [[ $(ninja -C "$dir" -n "$target" 2>&1) != *"no work to do"* ]]; then
    if [[ -t 2 ]]; then
      say "building ($preset) ..."
      ninja -C "$dir" "$target" >&2 || die "building ($preset) failed; see the output above"
    else
      step "building ($preset)" ninja -C "$dir" "$target" || show_build_failure
    fi
  fi
  release_lock
}

show_build_failure() {
  tail -n 60 "$log" >&2
  die "the build failed; full log: $log"
}
