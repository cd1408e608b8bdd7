import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, sharedLibraries, tarOf } from '@davit/drivers';
import type { Pack } from 'tar-stream';
import { addBusybox } from './engine-images.ts';
import type { TestImage } from './registry.ts';

const folder = '/usr/lib/postgresql/15';
const share = '/usr/share/postgresql/15';
const mariadbShare = '/usr/share/mysql';
const path = `PATH=${folder}/bin:/usr/local/bin:/usr/bin:/bin`;

/**
 * Mimics the startup of the official PostgreSQL and Redis images, as far as Davit relies on it. The environment names
 * the first user, its password and its database. The data folder is created and assigned to a separate user, and the
 * server then runs as that user.
 */
const entrypoint = `#!/bin/sh
set -e
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  chown -R redis .
  exec su -m -s /bin/sh -- redis "$0" "$@"
fi
if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown -R postgres "$PGDATA"
  chmod 700 "$PGDATA"
  exec su -m -s /bin/sh -- postgres "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256 --locale=C --encoding=UTF8 $POSTGRES_INITDB_ARGS "$PGDATA"
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
fi
exec "$@"
`;

/**
 * Returns an image that runs this machine's PostgreSQL 15 (Debian: postgresql-15) like the official image, with the
 * tools for its backups and busybox.
 */
export async function postgresImage(): Promise<TestImage> {
  const programs = ['postgres', 'initdb', 'psql', 'pg_dump', 'pg_dumpall', 'pg_restore'].map((name) => join(folder, 'bin', name));
  const modules = readdirSync(join(folder, 'lib')).filter((name) => name.endsWith('.so') && !name.startsWith('llvmjit'));
  const files = await tarOf((archive) => {
    addBusybox(archive, { postgres: 999 });
    addPrograms(archive, programs);
    for (const name of modules) addFile(archive, join(folder, 'lib', name));
    addFolder(archive, share);
    for (const zone of ['UTC', 'GMT']) addFile(archive, join('/usr/share/zoneinfo', zone));
    addEntrypoint(archive);
  });
  const command = ['postgres', '-c', 'listen_addresses=*', '-c', 'unix_socket_directories=/tmp'];
  return { files, environment: [path, 'TZ=UTC'], entrypoint: ['docker-entrypoint.sh'], command };
}

/** Returns an image that runs this machine's Redis (Debian: redis-server) like the official image. */
export async function redisImage(): Promise<TestImage> {
  const files = await tarOf((archive) => {
    addBusybox(archive, { redis: 999 });
    addPrograms(archive, ['redis-server', 'redis-cli', 'redis-check-rdb'].map(installed));
    addEntrypoint(archive);
    archive.entry({ name: 'data', type: 'directory', mode: 0o755 });
  });
  return { files, environment: [path], entrypoint: ['docker-entrypoint.sh'], command: ['redis-server'], folder: '/data' };
}

/**
 * Creates the system tables of the server, like `mariadb-install-db`, with the users and the database that the
 * environment names.
 */
const mariadbEntrypoint = `#!/bin/sh
set -e
case $(basename "$1") in mariadbd|mysqld) ;; *) exec "$@" ;; esac
if [ "$(id -u)" = 0 ]; then
  mkdir -p /var/lib/mysql /run/mysqld
  chown -R mysql /var/lib/mysql /run/mysqld
  exec su -m -s /bin/sh -- mysql "$0" "$@"
fi
cd /var/lib/mysql
if [ ! -d mysql ]; then
  {
    printf 'create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\nset @skip_auth_anonymous=1;\n'
    cat ${mariadbShare}/mysql_system_tables.sql ${mariadbShare}/mysql_performance_tables.sql ${mariadbShare}/mysql_system_tables_data.sql
    echo 'flush privileges;'
    echo "delete from mysql.global_priv where user = 'root';"
    echo 'flush privileges;'
    for host in % localhost; do
      echo "create user root@'$host' identified by '$MYSQL_ROOT_PASSWORD';"
      echo "grant all on *.* to root@'$host' with grant option;"
    done
    echo "create database $MYSQL_DATABASE;"
  } > /tmp/init.sql
  mariadbd --no-defaults --bootstrap --datadir=/var/lib/mysql < /tmp/init.sql
fi
shift
exec mariadbd --no-defaults --datadir=/var/lib/mysql --innodb-buffer-pool-size=32M "$@"
`;

/**
 * Returns an image that runs this machine's MariaDB (Debian: mariadb-server-core, mariadb-client) like the official
 * MySQL image runs its server: with the same environment, and tools with the same names.
 */
export async function mariadbImage(): Promise<TestImage> {
  const files = await tarOf((archive) => {
    addBusybox(archive, { mysql: 999 });
    addPrograms(archive, ['mariadbd', 'mariadb', 'mariadb-dump'].map(installed));
    for (const name of readdirSync(mariadbShare).filter((one) => one.endsWith('.sql')))
      addFile(archive, join(mariadbShare, name));
    for (const name of ['english', 'charsets']) addFolder(archive, join(mariadbShare, name));
    archive.entry({ name: 'usr/local/bin/docker-entrypoint.sh', mode: 0o755 }, mariadbEntrypoint);
  });
  return {
    files,
    environment: ['PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin'],
    entrypoint: ['docker-entrypoint.sh'],
    command: ['mariadbd'],
  };
}

/** Returns an image with clients for both: `psql`, `redis-cli` and busybox. */
export async function databaseClientImage(): Promise<TestImage> {
  const files = await tarOf((archive) => {
    addBusybox(archive);
    addPrograms(archive, [join(folder, 'bin', 'psql'), installed('redis-cli')]);
  });
  return { files, environment: [path] };
}

function installed(name: string): string {
  const program = findProgram(name);
  if (program === null) {
    throw new Error(`${name} is not installed (Debian: apt-get install redis-server mariadb-server-core mariadb-client)`);
  }
  return program;
}

/** Adds programs with the libraries that they need. */
function addPrograms(archive: Pack, programs: readonly string[]): void {
  const all = new Set(programs.flatMap((program) => [program, ...sharedLibraries(program)]));
  for (const file of all) addFile(archive, file);
}

function addFolder(archive: Pack, from: string): void {
  const files = readdirSync(from, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  for (const { parentPath, name } of files) addFile(archive, join(parentPath, name));
}

function addFile(archive: Pack, file: string): void {
  archive.entry({ name: file.slice(1), mode: 0o755 }, readFileSync(realpathSync(file)));
}

function addEntrypoint(archive: Pack): void {
  archive.entry({ name: 'usr/local/bin/docker-entrypoint.sh', mode: 0o755 }, entrypoint);
}
