#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/format.sh [--check]
#
# Formats every C++ and CUDA file; with --check only says which need it. Always clang-format 14:
# other versions format differently.

set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh format

options=(-i)
if [ "${1:-}" = --check ]; then options=(--dry-run --Werror); fi
find include src cuda tests bench examples tools \
  \( -name '*.h' -o -name '*.cc' -o -name '*.cuh' -o -name '*.cu' \) -print0 |
  xargs -0 clang-format-14 --style=file "${options[@]}"
