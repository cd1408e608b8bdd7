import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { migrationsFolder, readMigrations, statement } from '@davit/db';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { TestDns } from '@davit/testkit/dns';
import { startTestServer } from '@davit/testkit/server';
import { freePort } from '@davit/testkit/site';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openVault, readKeys } from '../../secrets/keys.ts';
import { lockStateFolder } from '../state.ts';
import { readConfiguration } from '../config.ts';
import { doctor } from './doctor.ts';

let folder: string;
let home: string;
let database: TestDatabase;
const servers: Server[] = [];
const path0 = process.env['PATH'];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-doctor-'));
  home = path.join(folder, 'home');
  await mkdir(home);
  database = await createTestDatabase();
});
afterEach(async () => {
  process.env['PATH'] = path0;
  for (const server of servers.splice(0)) server.close();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function listen(port = 0): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  servers.push(server);
  await new Promise<void>((resolve) => server.once('listening', resolve));
  const address = server.address() as AddressInfo | null; // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on a port
  return address?.port ?? 0;
}

interface Report {
  readonly code: number;
  readonly text: string;
  /** Lines of failures and warnings, with their advice. */
  readonly trouble: string;
}

async function look(environment: Readonly<Record<string, string>> = {}): Promise<Report> {
  const lines: string[] = [];
  const given = {
    DAVIT_HOME: home,
    DATABASE_URL: database.connectionString,
    // Nothing listens on this socket; the tests of the engine project use real engines.
    DOCKER_HOST: `unix://${path.join(folder, 'none.sock')}`,
    DAVIT_PORT: String(await freePort()),
    DAVIT_GATEWAY_PORT: String(await freePort()),
    ...environment,
  };
  const code = await doctor(given, (text) => lines.push(text));
  const at = lines.findIndex((line) => line.includes('container engine: '));
  const rest = lines.toSpliced(at, 2).filter((line) => !line.startsWith('ok'));
  return { code, text: lines.join('\n'), trouble: rest.join('\n') };
}

/** Expects the failures and warnings to match `words`. The container engine of this machine is ignored. */
async function finds(environment: Readonly<Record<string, string>>, words: RegExp): Promise<Report> {
  const report = await look(environment);
  expect(report.trouble).toMatch(words);
  return report;
}

test('where all is well nothing is said against it, and nothing is changed', async () => {
  const { trouble, text } = await look();
  expect(trouble).toBe('');
  expect(text).toMatch(/^ok {4}database: PostgreSQL 1\d/m);
  expect(await readdir(home)).toEqual([]);
  await look({ DATABASE_URL: '' });
  expect(await readdir(home)).toEqual([]);
});

test('a wrong configuration is told completely', async () => {
  const { code, text } = await look({ DAVIT_PORT: 'x', DAVIT_ROLE: 'boss' });
  expect(code).toBe(1);
  expect(text).toMatch(/^FAIL {2}configuration: [\s\S]*DAVIT_PORT[\s\S]*DAVIT_ROLE/);
});

test('misspelt variables are warned of, and broken catalogues fail', async () => {
  await finds({ DAVIT_PROT: '1' }, /^WARN {2}configuration: variables that this version does not know: DAVIT_PROT$/m);
  const file = path.join(folder, 'catalogue.json');
  await writeFile(file, '{"vendors": ');
  const { code } = await finds({ DAVIT_CATALOGUE: file }, /^FAIL {2}configuration: .*catalogue/m);
  expect(code).toBe(1);
});

test('a state folder that is a file, and one without room, fail', async () => {
  await writeFile(path.join(folder, 'file'), '');
  await finds({ DAVIT_HOME: path.join(folder, 'file') }, /^FAIL {2}state folder: .* is not a folder\n {6}Set DAVIT_HOME/m);
  const { code } = await finds(
    { DAVIT_LEAST_FREE_DISK_MIB: '1073741824' },
    /^FAIL {2}state folder: only .* GiB free at .*\n {6}Free space/m,
  );
  expect(code).toBe(1);
});

test('a database that is not there, or that a newer version used, fails; one that is behind is warned of', async () => {
  const password = `canary-${randomUUID()}`;
  const gone = `postgresql://davit:${password}@127.0.0.1:${await freePort()}/davit`;
  const { text } = await finds({ DATABASE_URL: gone }, /^FAIL {2}database: the database of DATABASE_URL does not answer/m);
  expect(text).not.toContain(password);
  const newer = "insert into davit_migration (number, name, sha256) values (9999, '9999-later', 'x')";
  await database.database.run(statement('test_doctor_newer', newer));
  expect((await look()).text).toMatch(/^ok {4}database: PostgreSQL .* of a newer version, which this one supports/m);
  await database.database.run(statement('test_doctor_needs', 'update davit_migration set needs = 9999 where number = 9999'));
  await finds({}, /^FAIL {2}database: it was used by a newer version of Davit: it has migration 9999-later/m);
  const { length } = await readMigrations(migrationsFolder);
  await database.database.run(statement('test_doctor_older', 'delete from davit_migration where number > $1'), [length - 1]);
  await finds({}, /^WARN {2}database: PostgreSQL .*, 1 migrations behind\n {6}The next start applies/m);
});

test('a secret key that is gone, or is another one, fails and is not made anew', async () => {
  await openVault(database.database, await readKeys(home, null));
  expect((await look()).text).toContain('the secret key fits');
  const other = Buffer.alloc(32, 7).toString('base64');
  const { text } = await finds({ DAVIT_SECRET_KEY: other }, /^FAIL {2}database: The secret key does not open this database/m);
  expect(text).not.toContain(other);
  await rm(path.join(home, 'secret-key'));
  await finds({}, /^FAIL {2}database: .*secret-key is missing/m);
  expect(await readdir(home)).toEqual([]);
});

test('a container engine that does not answer fails', async () => {
  const { code, text } = await look();
  expect(code).toBe(1);
  expect(text).toMatch(/^FAIL {2}container engine: The container engine does not answer: .*\n {6}Start it/m);
});

test('programs that are missing or too old fail', async () => {
  process.env['PATH'] = folder;
  const { code } = await finds(
    {},
    /^FAIL {2}programs: git cannot be run: [\s\S]*^FAIL {2}gateway: haproxy cannot be run: .*\n {6}Install HAProxy/m,
  );
  const old = path.join(folder, 'haproxy');
  await symlink('/bin/sh', path.join(folder, 'sh'));
  await writeFile(old, '#!/bin/sh\necho HAProxy version 2.4.1\n');
  await chmod(old, 0o755);
  await finds({}, /^FAIL {2}gateway: HAProxy version 2.4.1 is too old/m);
  expect(code).toBe(1);
});

test('ports that others listen on fail', async () => {
  const port = String(await listen());
  const { code } = await finds({ DAVIT_GATEWAY_PORT: port }, /^FAIL {2}gateway: .*EADDRINUSE\n.*set DAVIT_GATEWAY_PORT/m);
  expect(code).toBe(1);
  await finds({ DAVIT_PORT: port }, /^FAIL {2}api: davit serve does not run, and .*EADDRINUSE\n.*set DAVIT_PORT/m);
  await finds({ DAVIT_HOST: '192.0.2.1' }, /^FAIL {2}api: .*EADDRNOTAVAIL\n.*set DAVIT_HOST/im);
});

const addCertificate = statement(
  'test_doctor_certificate',
  `insert into certificate (host, purpose, failure) values ('davit.example.org', 'INSTALLATION', '{"message": "It refused."}')`,
);

test('ports and certificates of HTTPS that are not to be had fail', async () => {
  const https = { DAVIT_PUBLIC_URL: `https://davit.example.org:${await listen()}` };
  const port = new URL(https.DAVIT_PUBLIC_URL).port;
  const environment = { ...https, DAVIT_GATEWAY_HTTPS_PORT: port };
  const { code } = await finds(environment, /^FAIL {2}gateway: .*EADDRINUSE\n.*set DAVIT_GATEWAY_HTTPS_PORT/m);
  expect(code).toBe(1);
  const server = await startTestServer({ environment: { DATABASE_URL: database.connectionString } });
  const given = { ...environment, DATABASE_URL: server.database.connectionString };
  await finds(given, /^WARN {2}database: davit\.example\.org has no certificate yet/m);
  await server.database.database.run(addCertificate);
  await finds(given, /^FAIL {2}database: davit\.example\.org has no certificate: It refused\.\n.*next attempt/m);
  await server.close();
});

test('a domain that leads nowhere, elsewhere or to silent servers is told', async () => {
  const dns = await TestDns.start();
  const environment = { DAVIT_GATEWAY_DOMAIN: 'apps.example.org', DAVIT_DNS_SERVERS: dns.server };
  const name = 'davit-doctor.apps.example.org';
  await finds(environment, /^FAIL {2}dns: DNS has no record for .*\n {6}Add a wildcard record \*\.apps\.example\.org/m);
  dns.records.set(name, { a: ['192.0.2.7'] });
  await finds(environment, /^WARN {2}dns: .* leads to 192\.0\.2\.7, which is not an address of this machine/m);
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  dns.records.set(name, { a: [own.find(({ family }) => family === 'IPv4')?.address ?? '127.0.0.1'] });
  expect((await look(environment)).text).toMatch(/^ok {4}dns: \*\.apps/m);
  dns.records.set(name, { fails: true });
  await finds(environment, /^FAIL {2}dns: the DNS servers 127\.0\.0\.1:\d+ do not answer/m);
  await dns.close();
});

test('a server that runs is asked, and one that hangs fails', async () => {
  const server = await startTestServer();
  const own = { DATABASE_URL: server.database.connectionString, DAVIT_PORT: new URL(server.baseUrl).port };
  const config = readConfiguration({ ...own, DAVIT_HOME: home });
  const lock = await lockStateFolder(config, server.database.connectionString);
  expect((await look(own)).text).toMatch(/^ok {4}api: answers at /m);
  await finds({ ...own, DAVIT_PORT: String(await freePort()) }, /^FAIL {2}api: davit serve runs, but .* does not report ready/m);
  await lock.release();
  await server.close();
});
