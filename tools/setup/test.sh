# ./tutti test: runs all tests and sums up the results. Sourced by ./tutti.
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the other parts

passed=0 failed=0 skipped=0
strict=0            # --strict: failed tests are not run again
declare -a unsteady=()   # "PRESET: TEST" that failed and then passed alone
most_unsteady=2     # more of them count as failures
most_rerun=8        # more failures are not run again

# Words in the first output that make a failure final: a sanitizer's finding, a wrong result, a crash of a rank.
final_words='(Address|Leak|Thread)Sanitizer|runtime error:|[Ww]rong result|wrong$|count_wrong|terminate called|[Ss]egmentation fault|SIGSEGV'

# output_of DIR TEST: prints the output of the test from ctest's log of the last run.
output_of() {
  awk -v name="$2" '
    index($0, " Testing: ") && substr($0, index($0, " Testing: ") + 10) == name { inside = 1 }
    inside
    inside && index($0, "\"" name "\" end time:") == 1 { exit }' "$1/Testing/Temporary/LastTest.log" 2>/dev/null
}

# report_skips PRESET DIR: prints the test cases that were skipped within programs that passed, each with its reason.
report_skips() {
  local list
  list=$(awk '
    / Testing: / { name = substr($0, index($0, " Testing: ") + 10) }
    reason_follows { print name ": " $0; reason_follows = 0 }
    /: Skipped$/ { reason_follows = 1 }' "$2/Testing/Temporary/LastTest.log" 2>/dev/null)
  [[ -n $list ]] || return 0
  say "skipped ($1), with the reason:"
  sed 's/^/  /' <<<"$list" >&2
}

# add_results FILE STATUS: adds the counts of one ctest run. A run that failed without a failed test is one failure.
add_results() {
  local -a count
  local file=$1 status=$2
  if [[ -s $file ]]; then
    # A test that did not run counts as skipped only if it said so itself: a missing executable is a failure.
    # A case that was skipped within a program counts as skipped beside the program, which passed.
    read -ra count < <(awk '
      /<testcase / { total++; failed += /status="fail"/; skipped += /status="disabled"/ }
      /<skipped / { if (/message="SKIP_/) skipped++; else failed++; own = 1 }
      /: Skipped$/ { if (!own) cases++ }
      /<\/testcase>/ { own = 0 }
      END { print total - failed - skipped, failed + 0, skipped + cases + 0 }' "$file")
  else
    count=(0 0 0)
  fi
  if ((status != 0 && count[1] == 0)); then count[1]=1; fi
  ((passed += count[0], failed += count[1], skipped += count[2])) || true
}

# failures FILE: prints "KIND TEST" for each failure in the output of ctest; blanks in KIND become '_'.
failures() {
  awk '/^The following tests FAILED:/ { inside = 1; next }
    inside && match($0, /^\t *[0-9]+ - /) {
      row = substr($0, RSTART + RLENGTH)
      if (!match(row, / \([^()]*\)$/)) next
      kind = substr(row, RSTART + 2, RLENGTH - 3)
      gsub(/ /, "_", kind)
      print kind, substr(row, 1, RSTART - 1)
    }' "$1"
}

# run_again PRESET PRINTED WRAPPER...: runs each failed test again, alone. A test that then passes is unsteady.
run_again() {
  local preset=$1 printed=$2 dir=$root/build/$1 row kind name pattern first results
  local -a rows
  shift 2
  mapfile -t rows < <(failures "$printed")
  ((${#rows[@]} > 0 && ${#rows[@]} <= most_rerun)) || return 0
  mkdir -p "$dir/unsteady"
  for name in "${rows[@]#* }"; do
    output_of "$dir" "$name" >"$dir/unsteady/${name//[^A-Za-z0-9._-]/_}.txt"
  done
  for row in "${rows[@]}"; do
    kind=${row%% *} name=${row#* }
    first=$dir/unsteady/${name//[^A-Za-z0-9._-]/_}.txt
    if [[ $kind != @(Failed|Timeout) ]] || grep -qE "$final_words" "$first"; then
      say "$name failed with a crash, a wrong result or a sanitizer's finding: not run again"
      continue
    fi
    pattern=$(sed 's/[][\.*^$+?(){}|]/\\&/g' <<<"$name")
    results=$dir/again.$$.xml
    say "running $name again, alone ..."
    if "$@" ctest --test-dir "$dir" --output-on-failure --output-junit "$results" --no-tests=error -j1 -R "^$pattern\$" &&
      grep -q 'status="run"' "$results"; then
      unsteady+=("$preset: $name (first output: $first)")
      ((failed -= 1, passed += 1)) || true
    fi
    rm -f "$results"
  done
}

# run_ctest PRESET ARGUMENT...
run_ctest() {
  local dir=$root/build/$1 begin=$SECONDS status=0 results printed
  local -a wrapper=()
  # ThreadSanitizer fails when a newer kernel randomises the address space more than it supports.
  if [[ $1 == tsan ]] && setarch -R true 2>/dev/null; then wrapper=(setarch -R); fi
  results=$dir/results.$$.xml printed=$dir/ctest.$$.txt
  say "testing ($1) ..."
  "${wrapper[@]}" ctest --test-dir "$dir" --output-on-failure --output-junit "$results" -j2 "${@:2}" |
    tee "$printed" || status=$?
  add_results "$results" "$status"
  report_skips "$1" "$dir"
  if ((status != 0 && !strict)); then run_again "$1" "$printed" "${wrapper[@]}"; fi
  rm -f "$results" "$printed"
  say "testing ($1): took $((SECONDS - begin)) s"
}

# Lists the unsteady tests; more than most_unsteady of them count as failures.
judge_unsteady() {
  local row file
  ((${#unsteady[@]})) || return 0
  printf '\nunsteady: %d failed at first and passed when run again alone\n' "${#unsteady[@]}"
  for row in "${unsteady[@]}"; do
    printf '  %s\n' "$row"
    file=${row##*first output: }
    tail -n 40 "${file%)}" | sed 's/^/    | /'
  done
  if ((${#unsteady[@]} > most_unsteady)); then
    printf 'more than %d unsteady tests: they count as failed\n' "$most_unsteady"
    ((passed -= ${#unsteady[@]}, failed += ${#unsteady[@]})) || true
  fi
}

run_tests() {
  local quick=0 preset
  local -a arguments=()
  while (($#)); do
    case $1 in
      --quick) quick=1 ;;
      --strict) strict=1 ;;
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
  judge_unsteady
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  ((failed == 0))
}
