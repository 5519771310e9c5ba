# Sourced by trials: a PostgreSQL server of their own in a folder, on a free port of loopback, with a store and a login
# `agent` (password `secret`). Sets `store` and `PGPASSFILE`; `stop_postgres` ends the server. Needs root, for the
# server runs as the user postgres.
# shellcheck shell=bash disable=SC2034

start_postgres() {
  local work=$1 program=$2 programs port socket
  postgres_folder=$work/postgres
  postgres_programs=$(dirname "$(find /usr/lib/postgresql -path '*/bin/postgres' | sort -V | tail -1)")
  programs=$postgres_programs
  port=$(free_port)
  install -d -o postgres "$postgres_folder"
  as_postgres "$programs/initdb" -U owner -A trust -E UTF8 --locale=C.UTF-8 --no-sync -D data >/dev/null
  printf 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n' >"$postgres_folder/data/pg_hba.conf"
  as_postgres "$programs/pg_ctl" start --wait --silent -D data -l log -o "-c fsync=off -c listen_addresses=127.0.0.1 \
    -c port=$port -c unix_socket_directories=$postgres_folder"
  socket=${postgres_folder//\//%2F}
  owners_store=postgres://owner@$socket:$port/store
  store=postgres://agent@127.0.0.1:$port/store
  "$programs/createdb" -h "$postgres_folder" -p "$port" -U owner store
  "$program" store init --store "$owners_store"
  "$programs/psql" -X -q -h "$postgres_folder" -p "$port" -U owner store \
    -c "CREATE ROLE agent LOGIN PASSWORD 'secret' IN ROLE drivescope_agent"
  postgres_password_line="127.0.0.1:$port:store:agent:secret"
  # Over loopback, without a certificate.
  export PGSSLMODE=disable
}

stop_postgres() {
  [ -z "${postgres_folder:-}" ] || as_postgres "$postgres_programs/pg_ctl" stop --mode=immediate --silent -D data || true
}

as_postgres() { (cd "$postgres_folder" && setpriv --reuid postgres --regid postgres --clear-groups "$@"); }

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Debian's packages, without the services that they would start.
install_packages() {
  local missing=() package made=
  for package; do dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing: ${missing[*]}"
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 0755 /usr/sbin/policy-rc.d
    made=1
  fi
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  local failed=0
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null; } || failed=$?
  [ -z "$made" ] || rm -f /usr/sbin/policy-rc.d
  return $failed
}
