#!/bin/sh
# Every step of compute-shader over a few sizes; TALLY is the command. For tests/vulkan/validated.sh, as its ENGINE.
exec "$TALLY" ladder compute-shader --check --n 3000
