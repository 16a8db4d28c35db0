#!/usr/bin/env bash
# The verdicts of ./tutti test on made-up tests: usage: test_runs_test.sh SOURCE_FOLDER
# Each case is a ctest folder of its own with tests that fail the first time, always, or with a crash.
set -euo pipefail
source_root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
problems=0

# case NAME EXPECTED_STATUS EXPECTED_LAST_LINE EXPECTED_WORDS OPTION...: runs the tests in $work/NAME.
run_case() {
  local name=$1 status=$2 last=$3 words=$4 got=0 output
  shift 4
  output=$(
    root=$work/$name
    source "$source_root/tools/setup/common.sh"
    source "$source_root/tools/setup/test.sh"
    build_preset() { :; }
    run_tests "$@" 2>&1
  ) || got=$?
  if [[ $got != "$status" || ${output##*$'\n'} != "$last" ]] || ! grep -qE "$words" <<<"$output"; then
    printf 'FAILED %s: exit %s (expected %s), expected last line "%s" and words "%s"; printed:\n%s\n\n' \
      "$name" "$got" "$status" "$last" "$words" "$output"
    problems=1
  fi
}

# tests NAME: the text on the standard input becomes the release tests of the case; the sanitizers have one that passes.
tests() {
  local preset
  mkdir -p "$work/$1/build/"{release,asan,tsan}
  cat >"$work/$1/build/release/CTestTestfile.cmake"
  for preset in asan tsan; do
    printf 'add_test(sanitized true)\nset_tests_properties(sanitized PROPERTIES LABELS threads)\n' \
      >"$work/$1/build/$preset/CTestTestfile.cmake"
  done
}

# A command that fails the first time only, after it has said something.
once() { printf '"sh" "-c" "test -e %s/%s || { touch %s/%s; echo %s; %s; }"' "$work" "$1" "$work" "$1" "$2" "${3:-exit 1}"; }

tests all_pass <<<'add_test(one true)
add_test(two true)'
run_case all_pass 0 '4 passed, 0 failed, 0 skipped' 'took'

tests unsteady <<<"add_test(steady true)
add_test(odd.name/with+signs $(once a 'first words'))"
run_case unsteady 0 '4 passed, 0 failed, 0 skipped' '\| first words'

tests strict <<<"add_test(odd $(once b 'first words'))"
run_case strict 1 '2 passed, 1 failed, 0 skipped' 'first words' --strict

tests too_many <<<"add_test(x $(once c1 w))
add_test(y $(once c2 w))
add_test(z $(once c3 w))"
run_case too_many 1 '2 passed, 3 failed, 0 skipped' 'more than 2 unsteady'

tests always <<<'add_test(bad false)'
run_case always 1 '2 passed, 1 failed, 0 skipped' 'running bad again'

tests crash <<<"add_test(crash $(once d w 'ulimit -c 0; kill -SEGV \$\$'))"
run_case crash 1 '2 passed, 1 failed, 0 skipped' 'crash failed with a crash'

tests wrong <<<"add_test(wrong $(once e 'wrong result: element 3'))"
run_case wrong 1 '2 passed, 1 failed, 0 skipped' 'wrong failed with a crash, a wrong result'

tests sanitizer <<<"add_test(race $(once f 'WARNING: ThreadSanitizer: data race'))"
run_case sanitizer 1 '2 passed, 1 failed, 0 skipped' 'not run again'

tests missing <<<'add_test(gone /nonexistent/program)'
run_case missing 1 '2 passed, 1 failed, 0 skipped' 'not run again'

tests skips <<<'add_test(whole "echo" "[  SKIPPED ]")
set_tests_properties(whole PROPERTIES SKIP_REGULAR_EXPRESSION SKIPPED)
add_test(part "printf" "a.cpp:1: Skipped\nno such thing here\n[  PASSED  ] 1 test.\n")'
run_case skips 0 '3 passed, 0 failed, 2 skipped' 'part: no such thing here'

exit "$problems"
