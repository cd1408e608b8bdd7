import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { startTestEngine, testEngineKinds, type TestEngine } from '@davit/testkit/engines';
import { freePort } from '@davit/testkit/site';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { doctor } from './doctor.ts';

describe.each(testEngineKinds())('the doctor on %s', (kind) => {
  let engine: TestEngine;
  let database: TestDatabase;
  let home: string;
  const lines: string[] = [];
  beforeAll(async () => {
    engine = await startTestEngine(kind);
    database = await createTestDatabase();
    home = await mkdtemp(path.join(tmpdir(), 'davit-doctor-'));
  });
  afterAll(async () => {
    await engine.start();
    await database.drop();
    await rm(home, { recursive: true, force: true });
  });

  async function look(environment: Readonly<Record<string, string>> = {}): Promise<number> {
    lines.length = 0;
    const own = { DAVIT_HOME: home, DATABASE_URL: database.connectionString, DOCKER_HOST: `unix://${engine.socketPath}` };
    const ports = { DAVIT_PORT: String(await freePort()), DAVIT_GATEWAY_PORT: String(await freePort()) };
    return doctor({ ...own, ...ports, ...environment }, (text) => lines.push(text));
  }

  test('finds it with its disk, and ends with 0, also with warnings', async () => {
    expect(await look()).toBe(0);
    expect(lines.filter((line) => line.includes('container engine'))).toEqual([
      expect.stringMatching(new RegExp(`^ok {4}container engine: ${kind} \\d`)),
      expect.stringMatching(/^ok {4}container engine: .* GiB free at \//),
    ]);
    expect(await look({ DAVIT_PROT: '1' })).toBe(0);
    expect(lines[0]).toMatch(/^WARN/);
  });

  test('says so when it was stopped, and ends with 1', async () => {
    await engine.stop();
    expect(await look()).toBe(1);
    expect(lines.filter((line) => line.startsWith('FAIL'))).toEqual([expect.stringContaining('does not answer')]);
  });
});
