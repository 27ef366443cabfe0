#!/bin/sh
# Copies PRIMARY_URL to STANDBY_DATA as a streaming standby unless there is a copy, and runs the given command.
set -eu
if [ ! -e "$STANDBY_DATA" ]; then
  # Under another name until it is whole.
  rm -rf "$STANDBY_DATA.part"
  pg_basebackup -d "$PRIMARY_URL" -D "$STANDBY_DATA.part" -R -X stream -c fast
  mv "$STANDBY_DATA.part" "$STANDBY_DATA"
fi
exec "$@"
