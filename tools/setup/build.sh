# Configuring and building a preset. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

configure_preset() {
  local preset=$1 dir=$root/build/$1 stamp want
  local -a arguments=(-S "$root" --preset "$preset" "-DTUTTI_INTEL_MPI_ROOT=$TUTTI_INTEL_MPI_ROOT"
    "-DTUTTI_ONECCL_ROOT=$TUTTI_ONECCL_ROOT" "-DTUTTI_CUDA_ROOT=$TUTTI_CUDA_ROOT")
  command -v ninja >/dev/null || arguments+=(-G 'Unix Makefiles')
  stamp=$dir/.configured
  # CMake notices changes of its own files; the rest is in this key. A set-up that brought more is one too.
  want=$({
    printf '%s\n' "$root" "${arguments[@]}" "${CC:-}" "${CXX:-}" "${CXXFLAGS:-}"
    cat "$root/CMakePresets.json" "$state_dir"/{run,test} 2>/dev/null || true
  } | hash_of)
  [[ -e $stamp && -e $dir/CMakeCache.txt && $(<"$stamp") == "$want" ]] && return
  # A tree that was configured for another place or compiler cannot be reused: the second try starts it over.
  step "configuring ($preset)" cmake "${arguments[@]}" ||
    step "configuring ($preset) afresh" cmake --fresh "${arguments[@]}" ||
    { tail -n 20 "$log" >&2; return 1; }
  printf '%s\n' "$want" >"$stamp"
}

# has_target DIR TARGET
has_target() { [[ -e $1/build.ninja ]] && ninja -C "$1" -t query "$2" >/dev/null 2>&1; }

# Opens the build of a preset: its folder, its log and the lock.
open_build() {
  mkdir -p "$root/build/$1"
  take_lock "$root/build"
  log=$state_dir/$1.log
  : >"$log"
  configure_preset "$1" || die "configuring failed; the whole log is in $log"
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
      ninja -C "$dir" "$target" >&2 || die "the build failed, see above"
    else
      step "building ($preset)" ninja -C "$dir" "$target" || show_build_failure
    fi
  fi
  release_lock
}

show_build_failure() {
  tail -n 60 "$log" >&2
  die "the build failed; the whole log is in $log"
}
