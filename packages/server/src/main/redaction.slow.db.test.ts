import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { freePort } from '@davit/testkit/site';
import { afterAll, beforeAll, expect, test } from 'vitest';

const cli = fileURLToPath(new URL('cli.ts', import.meta.url));
const secrets = {
  password: `canary-${randomUUID()}`,
  passphrase: `canary-${randomUUID()}`,
  token: `canary-${randomUUID()}`,
  key: randomBytes(32).toString('base64'),
};
let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-redaction-'));
  database = await createTestDatabase();
  await writeFile(path.join(folder, 'broken'), 'davit export 1\n');
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly text: string;
}

function davit(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ended> {
  const env = {
    PATH: process.env['PATH'],
    DAVIT_HOME: path.join(folder, 'home'),
    DAVIT_ROLE: 'api',
    DAVIT_PORT: '0',
    DOCKER_HOST: `unix://${path.join(folder, 'none.sock')}`,
    DAVIT_BOOTSTRAP_TOKEN: secrets.token,
    DAVIT_SECRET_KEY: secrets.key,
    DAVIT_EXPORT_PASSPHRASE: secrets.passphrase,
    ...environment,
  };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [cli, ...args], { env, timeout: 60_000 }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, text: out + err }),
    );
  });
}

function expectNoSecret({ text }: Ended): void {
  for (const [what, secret] of Object.entries(secrets))
    expect({ what, text }).not.toMatchObject({ text: expect.stringContaining(secret) });
}

const commands: readonly (readonly string[])[] = [
  ['serve'],
  ['migrate'],
  ['token', 'list'],
  ['organization', 'list'],
  ['disk'],
  ['doctor'],
  ['export', 'never'],
  ['import', 'broken'],
];

test.each(commands)('davit %s fails without a secret in its words', async (...given) => {
  const args = given.map((word) => (word === 'never' || word === 'broken' ? path.join(folder, word) : word));
  const gone = `postgresql://davit:${secrets.password}@127.0.0.1:${await freePort()}/davit`;
  const ended = await davit(args, { DATABASE_URL: gone });
  expect(ended.code).toBe(1);
  expect(ended.text).not.toBe('');
  expectNoSecret(ended);
});

test('wrong settings are told by their names, and secret ones without their values', async () => {
  const wrong = { DATABASE_URL: `mysql://davit:${secrets.password}@host/db`, DAVIT_BOOTSTRAP_TOKEN: 'canary x' };
  const ended = await davit(['serve'], wrong);
  expect(ended.text).toMatch(/DATABASE_URL[\s\S]*DAVIT_BOOTSTRAP_TOKEN|DAVIT_BOOTSTRAP_TOKEN[\s\S]*DATABASE_URL/);
  expect(ended.text).not.toContain('canary');
  const key = await davit(['doctor'], {
    DATABASE_URL: database.connectionString,
    DAVIT_SECRET_KEY: `${secrets.key}${secrets.key}`,
  });
  expectNoSecret(key);
});
