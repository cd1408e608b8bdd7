import { randomUUID } from 'node:crypto';
import { loadBusyboxImage } from '@davit/testkit/engine-images';
import { startTestEngine, testEngineKinds } from '@davit/testkit/engines';
import { EngineClient } from '@davit/testkit/engine-client';
import { beforeAll, describe, expect, test } from 'vitest';
import { label } from './labels.ts';
import { busybox } from './testing.ts';
import { createVolumeStore, type VolumeStore } from './volumes.ts';

const { signal } = new AbortController();

// Podman's archives lose the owners of files in volumes, so callers of this store refuse that engine.
describe.runIf(testEngineKinds().includes('docker'))('volumes of docker', () => {
  let docker: EngineClient;
  let volumes: VolumeStore;
  beforeAll(async () => {
    docker = new EngineClient((await startTestEngine('docker')).socketPath);
    await loadBusyboxImage(docker, busybox);
    volumes = createVolumeStore(docker);
  });

  /** Returns the output of a command that runs with the volume mounted at /data. */
  async function run(volume: string, script: string): Promise<string> {
    const container = await docker.createContainer({
      Image: busybox,
      Cmd: ['/bin/sh', '-c', script],
      Tty: true,
      HostConfig: { Mounts: [{ Type: 'volume', Source: volume, Target: '/data' }] },
    });
    await container.start();
    await container.wait();
    const lines = await container.logs();
    await container.remove();
    return lines.replaceAll('\r', '').trim();
  }

  test('are read and written with their files, owners and modes, and removed', async () => {
    const installation = randomUUID();
    const labels = { [label.installation]: installation, [label.object]: 'volume', [label.service]: 's' };
    const [from, to] = [`from-${installation}`, `to-${installation}`];
    await docker.createVolume({ Name: from, Labels: labels });
    const furnish =
      'mkdir /data/a; echo hello > /data/a/file; chmod 640 /data/a/file; chown -R 999:998 /data; chmod 700 /data; ln -s file /data/a/link';
    await run(from, furnish);
    const look = 'cd /data; stat -c "%a %u %g %n" . a a/file; cat a/link; readlink a/link';
    expect(await volumes.list(installation, signal)).toEqual([{ name: from, labels }]);
    await volumes.write({ name: to, labels }, volumes.read(from, signal), signal);
    expect(await run(to, look)).toBe(await run(from, look));
    expect(await run(to, look)).toContain('700 999 998 .');
    expect(await volumes.list(installation, signal)).toHaveLength(2);
    for (const name of [from, to, to]) await volumes.remove(name, signal);
    expect(await volumes.list(installation, signal)).toEqual([]);
  });

  test('are known to be used by what runs', async () => {
    const name = `used-${randomUUID()}`;
    const container = await docker.createContainer({
      Image: busybox,
      Cmd: ['/bin/sh', '-c', 'sleep 60'],
      HostConfig: { Mounts: [{ Type: 'volume', Source: name, Target: '/data' }] },
    });
    expect(await volumes.users(name, signal)).toEqual([]);
    await container.start();
    expect(await volumes.users(name, signal)).toHaveLength(1);
    await container.remove({ force: true });
    await volumes.remove(name, signal);
  });
});
