#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Renders the demo's picture on every device alone and on all together. See README.md.
exec python3 "$(dirname "$0")/run.py" "$@"
