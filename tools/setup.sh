#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/setup.sh build|format
#
# Sees to it that the tools for building (or formatting) are there. Says nothing if they are. Else
# installs what is missing with apt-get, where it may; where it may not, prints the command and fails.
# CUDA is optional and never installed here.

set -euo pipefail

# True if version $1 is at least $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Prints the Debian package of each tool that is missing or too old.
missing_for_build() {
  at_least "$(cmake --version 2>/dev/null | awk 'NR == 1 {print $3}')" 3.25 || echo cmake
  command -v ninja >/dev/null || echo ninja-build
  command -v python3 >/dev/null || echo python3
  command -v pkg-config >/dev/null || echo pkg-config
  local cxx=${CXX:-g++}
  if ! at_least "$($cxx -dumpversion 2>/dev/null)" 12; then
    printf '%s\n' g++ libabsl-dev libgtest-dev libbenchmark-dev nlohmann-json3-dev
    return
  fi
  "$cxx" -E -P -x c++ - <<'CODE'
#if !__has_include(<absl/status/statusor.h>)
libabsl-dev
#endif
#if !__has_include(<gtest/gtest.h>)
libgtest-dev
#endif
#if !__has_include(<benchmark/benchmark.h>)
libbenchmark-dev
#endif
#if !__has_include(<nlohmann/json.hpp>)
nlohmann-json3-dev
#endif
CODE
}

missing_for_format() { command -v clang-format-14 >/dev/null || echo clang-format-14; }

missing() { "missing_for_$1" | xargs; }

what=${1:?usage: tools/setup.sh build|format}
packages=$(missing "$what")
[ -n "$packages" ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
  echo "kvpage needs these packages (Debian 12, Ubuntu 24.04, or newer):" >&2
  echo "  sudo apt-get install $packages" >&2
  exit 1
fi

echo "Installing: $packages"
"${as_root[@]}" apt-get update -qq
# shellcheck disable=SC2086  # a list of words
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends $packages

packages=$(missing "$what")
[ -z "$packages" ] && exit 0
echo "Still missing, or too old in this distribution: $packages" >&2
echo "kvpage needs cmake 3.25, g++ 12 and clang-format 14, as in Debian 12 and Ubuntu 24.04." >&2
exit 1
