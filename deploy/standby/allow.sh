#!/bin/sh
# Lets the owner of the database stream its log, from any address of the network, with its password. A new primary runs this once.
set -e
rule="host replication $POSTGRES_USER all scram-sha-256"
grep -qxF "$rule" "$PGDATA/pg_hba.conf" || echo "$rule" >> "$PGDATA/pg_hba.conf"
pg_ctl reload -D "$PGDATA"
