#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every tutti-bench kernel on all devices together.   usage: scripts/bench.sh BUILD_FOLDER
set -euo pipefail
build=${1:?usage: scripts/bench.sh BUILD_FOLDER}
export POCL_DEVICES=${POCL_DEVICES-basic basic} RUSTICL_ENABLE=${RUSTICL_ENABLE-llvmpipe}
export LP_NUM_THREADS=${LP_NUM_THREADS-1}
exec "$build/bin/tutti" run -- "$build/bin/tutti-bench"
