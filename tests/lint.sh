#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/lint.sh [BUILD [FILE...]]
#
# Static checks of the C sources: clang-tidy with the checks of .clang-tidy over every C file that the
# build folder BUILD (a folder of the source tree, default: build) compiles, and cppcheck. With FILEs only
# clang-tidy, on these files. Prints every finding and ends with "N passed, N failed, N skipped", where each
# file counts for clang-tidy.
# A file without findings is not checked again while all that the result follows from is the same: its compile
# command, the contents of all files that it includes, .clang-tidy, and clang-tidy itself. What is known of files is in
# the folder CJ2K_LINT_CACHE (default: cj2k-lint in the user's folder for caches; empty: nothing is known).
# A finding is corrected; one that is wrong is silenced on its line, with the reason (NOLINTNEXTLINE,
# cppcheck-suppress).
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
shift $(($# > 0))
passed=0 failed=0 skipped=0
cache=${CJ2K_LINT_CACHE-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/cj2k-lint}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Tables that macros expand to expressions of thousands of terms: each tool takes over a minute for them.
left_out=(common/shared/mq_tables.c)

skip() {
  skipped=$((skipped + 1))
  echo "$1: skipped: $2"
}

# Writes a compilation database that has each C file once: the build compiles some into several programs,
# and clang-tidy would check these as often. Prints the files, relative to the source tree.
make_database() {
  python3 - "$build/compile_commands.json" "$work/compile_commands.json" <<'PYTHON'
import json, os, sys

entries = {}
with open(sys.argv[1], encoding='utf-8') as database:
    for entry in json.load(database):
        path = os.path.relpath(os.path.realpath(os.path.join(entry['directory'], entry['file'])))
        if path.endswith('.c') and not path.startswith('..'):
            entries.setdefault(path, entry)
with open(sys.argv[2], 'w', encoding='utf-8') as database:
    json.dump(list(entries.values()), database)
print('\n'.join(sorted(entries)))
PYTHON
}

# Prints the files, of those on standard input, that are not known to be without findings. *.key in the working
# folder says under which name the result of a file is kept.
unknown_files() {
  python3 - "$work" "$cache" "$(clang-tidy --version | tr '\n' ' ')" <<'PYTHON'
import hashlib, json, multiprocessing.pool, os, shlex, subprocess, sys

work, cache, version = sys.argv[1:4]
digests = {}


def digest(path):
    if path not in digests:
        with open(path, 'rb') as file:
            digests[path] = hashlib.sha256(file.read()).hexdigest()
    return digests[path]


def key(entry):
    """The name of the result; None: what the file includes cannot be told."""
    arguments, named = [], False
    for argument in shlex.split(entry['command']):
        if argument in ('-o', '-MF', '-MQ', '-c', '-MD') or named or os.path.basename(argument) == 'ccache':
            named = argument in ('-o', '-MF', '-MQ')
        else:
            arguments.append(argument)
    made = subprocess.run([*arguments, '-M'], cwd=entry['directory'], capture_output=True, text=True)
    if made.returncode:
        return None
    paths = made.stdout.replace('\\\n', ' ').split()[1:]
    paths = [os.path.normpath(os.path.join(entry['directory'], path)) for path in paths]
    told = [version, digest('.clang-tidy'), *arguments, *map(digest, paths)]
    return hashlib.sha256('\n'.join(told).encode()).hexdigest()


with open(f'{work}/compile_commands.json', encoding='utf-8') as database:
    entries = {os.path.relpath(os.path.realpath(os.path.join(e['directory'], e['file']))): e for e in json.load(database)}
with open(f'{work}/files', encoding='utf-8') as listed:
    files = listed.read().split()
with multiprocessing.pool.ThreadPool() as pool:
    keys = pool.map(lambda path: key(entries[path]) if cache and path in entries else None, files)
for path, name in zip(files, keys):
    if name and os.path.exists(f'{cache}/{name}'):
        os.utime(f'{cache}/{name}')
        continue
    if name:
        with open(f"{work}/{path.replace('/', '_')}.key", 'w', encoding='utf-8') as file:
            file.write(name)
    print(path)
PYTHON
}

# tidy_one FILE: the file's findings, in a file of their own; "ok" or "failed" as its name's ending.
tidy_one() {
  local result=$work/${1//\//_} status
  clang-tidy -p "$work" --quiet "$1" >"$result" 2>"$result.messages"
  status=$?
  if [ "$status" -eq 0 ] && ! grep -Eq '(error|warning):' "$result"; then
    mv "$result" "$result.ok"
    [ ! -e "$result.key" ] || : >"$cache/$(cat "$result.key")"
  else
    # An error without findings, such as a missing compile command.
    grep -Eq '(error|warning):' "$result" ||
      { echo "$1: clang-tidy ended with $status" && cat "$result.messages"; } >>"$result"
    mv "$result" "$result.failed"
  fi
}

# One process for each file and as many at a time as there are cores.
tidy() {
  local number all known
  [ -z "$cache" ] || { mkdir -p "$cache" && find "$cache" -type f -mtime +60 -delete; }
  unknown_files >"$work/unknown" || cp "$work/files" "$work/unknown"
  all=$(wc -l <"$work/files") known=$(($(wc -l <"$work/files") - $(wc -l <"$work/unknown")))
  export work cache
  export -f tidy_one
  xargs -P "$(nproc)" -I {} bash -c 'tidy_one {}' <"$work/unknown"
  passed=$((passed + known + $(find "$work" -name '*.ok' | wc -l)))
  number=$(find "$work" -name '*.failed' | wc -l)
  failed=$((failed + number))
  # A finding in a header is reported for each file that includes it: shown once, with what explains it.
  find "$work" -name '*.failed' -print0 | xargs -0 -r cat |
    awk '/(error|warning|ended with)/ && !/note:/ { again = seen[$0]++ } !again'
  echo "clang-tidy: $all files, $known of them as checked before, $number with findings"
}

cpp() {
  cppcheck --quiet --std=c11 --enable=warning,portability --library=gtk --library=posix --inline-suppr \
    -j "$(nproc)" -I . -I common -I "$build" --suppressions-list=tests/cppcheck-suppressions.txt \
    --template='{file}:{line}: {message} [{id}]' "${left_out[@]/#/-i}" common cuda/host gst examples tests 2>&1
}

if [ ! -e "$build/compile_commands.json" ]; then
  skip clang-tidy "$build is no configured build folder"
else
  case $(clang-tidy --version 2>/dev/null) in
  *' 14.'*)
    make_database | grep -vxF "$(printf '%s\n' "${left_out[@]}")" >"$work/files"
    [ $# -eq 0 ] || printf '%s\n' "$@" >"$work/files"
    tidy
    ;;
  *) skip clang-tidy "no clang-tidy 14" ;;
  esac
fi
if [ $# -gt 0 ]; then
  :
elif ! command -v cppcheck >/dev/null; then
  skip cppcheck "not installed"
elif findings=$(cpp) && [ -z "$findings" ]; then
  passed=$((passed + 1))
  echo "cppcheck: ok"
else
  failed=$((failed + 1))
  echo "$findings"
  echo "cppcheck: findings"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
