# ./tutti test: all test runs and their sum. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

passed=0 failed=0 skipped=0

# add_results FILE STATUS: adds the counts of one ctest run. One that failed without naming a test is one failure.
add_results() {
  local -a count
  local file=$1 status=$2
  if [[ -s $file ]]; then
    # A test that did not run counts as skipped only if it said so itself: a missing executable is a failure.
    read -ra count < <(awk '
      /<testcase / { total++; failed += /status="fail"/; skipped += /status="disabled"/ }
      /<skipped / { if (/message="SKIP_/) skipped++; else failed++ }
      END { print total - failed - skipped, failed + 0, skipped + 0 }' "$file")
  else
    count=(0 0 0)
  fi
  if ((status != 0 && count[1] == 0)); then count[1]=1; fi
  ((passed += count[0], failed += count[1], skipped += count[2])) || true
}

# run_ctest PRESET ARGUMENT...
run_ctest() {
  local dir=$root/build/$1 begin=$SECONDS status=0 results
  local -a wrapper=()
  # ThreadSanitizer needs the address layout it was made for; newer kernels randomise more than that.
  if [[ $1 == tsan ]] && setarch -R true 2>/dev/null; then wrapper=(setarch -R); fi
  results=$dir/results.$$.xml
  say "testing ($1) ..."
  "${wrapper[@]}" ctest --test-dir "$dir" --output-on-failure --output-junit "$results" -j2 "${@:2}" || status=$?
  add_results "$results" "$status"
  rm -f "$results"
  say "testing ($1): took $((SECONDS - begin)) s"
}

run_tests() {
  local quick=0 preset
  local -a arguments=()
  while (($#)); do
    case $1 in
      --quick) quick=1 ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  # A run that finds no test is a failure, except that the caller's filter may leave nothing for a sanitizer.
  local none=error
  ((${#arguments[@]})) && none=ignore
  build_preset release all
  if ((quick)); then
    run_ctest release -LE slow --no-tests=error "${arguments[@]}"
  else
    run_ctest release --no-tests=error "${arguments[@]}"
    for preset in asan tsan; do
      build_preset "$preset" tutti_thread_tests
      run_ctest "$preset" -L threads --no-tests="$none" "${arguments[@]}"
    done
  fi
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  ((failed == 0))
}
