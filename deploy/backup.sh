#!/bin/sh
# Dumps DATABASE_URL to BACKUP_DIR once a day, and keeps the newest BACKUPS (7) dumps. `backup.sh once` makes one dump and ends.
set -eu

dump() {
  name="rollcall-$(date -u +%Y%m%dT%H%M%SZ).dump"
  # Under another name until it is whole. What a full disk kept of it must not keep the disk full.
  pg_dump --format=custom --file="$BACKUP_DIR/$name.part" "$DATABASE_URL" && mv "$BACKUP_DIR/$name.part" "$BACKUP_DIR/$name" ||
    { rm -f "$BACKUP_DIR/$name.part"; return 1; }
}

prune() {
  ls -1r "$BACKUP_DIR"/rollcall-*.dump 2>/dev/null | tail -n "+$((${BACKUPS:-7} + 1))" | while read -r old; do rm -- "$old"; done
  # What killed dumps left. A younger one may be that of a dump that runs beside this one.
  find "$BACKUP_DIR" -name 'rollcall-*.part' -mmin +1440 -exec rm -- {} +
}

if [ "${1:-}" = once ]; then
  dump
  prune
  exit
fi
# A shell that is process 1 ignores SIGTERM unless it traps it, and handles it only while it waits.
# Its sleep must not outlive it.
sleeper=
trap 'kill "$sleeper" 2>/dev/null || :; exit' TERM INT
while :; do
  pause=86400
  dump && prune || { echo "The dump failed. The next attempt is in an hour." >&2; pause=3600; }
  sleep "$pause" &
  sleeper=$!
  wait "$sleeper"
done
