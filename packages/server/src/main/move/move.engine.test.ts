import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createVolumeStore, tarOf, type VolumeStore } from '@davit/drivers';
import { statement } from '@davit/db';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { loadBusyboxImage } from '@davit/testkit/engine-images';
import { startTestEngine, testEngineKinds } from '@davit/testkit/engines';
import { EngineClient } from '@davit/testkit/engine-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfiguration } from '../config.ts';
import type { Configuration } from '../../configuration.ts';
import { exportInstance } from './export.ts';
import { importInstance } from './import.ts';
import { volumesOf } from './volumes.ts';

const { signal } = new AbortController();
const busybox = 'davit-tests/busybox:1';
const print = (): number => 0;

describe.each(testEngineKinds().filter((kind) => kind === 'docker'))('moving volumes of %s', (kind) => {
  let docker: EngineClient;
  let store: VolumeStore;
  let folder: string;
  let file: string;
  let here: TestDatabase;
  let there: TestDatabase;
  let socket: string;
  let installation: string;
  const name = `davit-move-${process.pid}-${kind}`;
  const configuration = (home: string, database: TestDatabase): Configuration =>
    readConfiguration({
      DAVIT_HOME: path.join(folder, home),
      DATABASE_URL: database.connectionString,
      DOCKER_HOST: `unix://${socket}`,
      DAVIT_EXPORT_PASSPHRASE: 'correct horse battery',
    });

  beforeAll(async () => {
    socket = (await startTestEngine(kind)).socketPath;
    docker = new EngineClient(socket);
    store = createVolumeStore(docker);
    await loadBusyboxImage(docker, busybox);
    folder = await mkdtemp(path.join(tmpdir(), 'davit-move-'));
    file = path.join(folder, 'instance');
    here = await createTestDatabase();
    there = await createTestDatabase({ isMigrated: false });
    installation = (await here.database.one(statement<{ id: string }>('test_move_id', 'select id from installation'))).id;
  });
  afterAll(async () => {
    await store.remove(name, signal);
    await here.drop();
    await there.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function read(): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of store.read(name, signal)) chunks.push(chunk);
    return Buffer.concat(chunks).toString('latin1');
  }

  test(
    'takes their files along, of services that do not run, to an engine that has none such',
    { timeout: 120_000 },
    async () => {
      const labels = { 'davit.installation': installation, 'davit.object': 'volume', 'davit.service': 's' };
      const files = await tarOf((archive) => void archive.entry({ name: 'volume/orders', mode: 0o600 }, 'canary-orders'));
      const content = async function* (): AsyncGenerator<Buffer> {
        yield files;
      };
      await store.write({ name, labels }, content(), signal);
      const container = await docker.createContainer({
        Image: busybox,
        Cmd: ['/bin/sh', '-c', 'sleep 60'],
        HostConfig: { Mounts: [{ Type: 'volume', Source: name, Target: '/data' }] },
      });
      await container.start();
      const request = { file, withVolumes: true };
      const running = { code: 'VOLUME_IN_USE', message: expect.stringContaining('Stop their services') };
      await expect(exportInstance(configuration('a', here), request, print)).rejects.toMatchObject(running);
      await container.remove({ force: true });
      await exportInstance(configuration('a', here), request, print);
      await expect(importInstance(configuration('b', there), file, print)).rejects.toMatchObject({ code: 'VOLUME_EXISTS' });
      await store.remove(name, signal);
      // If the import fails after the volumes were created, they are removed again.
      await expect(importInstance(configuration('../../dev/null/x', there), file, print)).rejects.toMatchObject({
        code: 'IMPORT_FAILED',
      });
      expect(await store.list(installation, signal)).toEqual([]);
      await importInstance(configuration('b', there), file, print);
      expect(await store.list(installation, signal)).toEqual([{ name, labels }]);
      expect(await read()).toContain('canary-orders');
    },
  );
});

describe.each(testEngineKinds().filter((kind) => kind === 'podman'))('moving volumes of %s', (kind) => {
  test('is refused, as their owners would be lost', async () => {
    const { socketPath } = await startTestEngine(kind);
    const config = readConfiguration({ DOCKER_HOST: `unix://${socketPath}` });
    await expect(volumesOf(config, 'i')).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
      message: expect.stringContaining('Podman'),
    });
  });
});
