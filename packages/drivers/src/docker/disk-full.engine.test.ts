import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Sensitive } from '@davit/base';
import { loadBusyboxImage } from '@davit/testkit/engine-images';
import { testEngineKinds, testEnginesFolder } from '@davit/testkit/engines';
import { testWorkload } from '../testing/workload.ts';
import { createDockerDriver, openDockerEngine, ownPodmanPaths, startOwnPodman } from './index.ts';
import { busybox } from './testing.ts';

const canMount = process.getuid?.() === 0 && testEngineKinds().includes('podman');

describe.skipIf(!canMount)('the docker driver on a full disk', () => {
  it('fails with DISK_FULL, leaves nothing half made that would run, and works once there is room', async () => {
    const state = join(testEnginesFolder(), 'small');
    mkdirSync(state, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', state]);
    const signal = new AbortController().signal;
    try {
      const socket = await startOwnPodman(state, signal, { subnets: '10.250.0.0/16' });
      const engine = await openDockerEngine({ socket: socket ?? '', stateFolder: state });
      await loadBusyboxImage(engine.docker, busybox);
      const installation = randomUUID();
      const driver = createDockerDriver({ ...engine, installation });
      const owner = { installation, organization: 'o', project: 'p', environment: 'e', service: 's' };
      const workload = (mebibytes: number, rollout: string): Parameters<typeof driver.start>[0] =>
        testWorkload({
          owner,
          rollout,
          image: busybox,
          entrypoint: ['/bin/sh', '-c'],
          arguments: ['sleep 60'],
          files: [{ path: '/opt/large', content: new Sensitive('x'.repeat(mebibytes * 1024 * 1024)) }],
          ports: [],
          readyTimeoutSeconds: 10,
          terminationGraceSeconds: 1,
        });
      const context = { signal, log: (): void => undefined };
      await expect(driver.start(workload(40, 'large'), context)).rejects.toMatchObject({ code: 'DISK_FULL', retryable: false });
      expect((await driver.observe({}, signal)).map((instance) => instance.state)).not.toContain('RUNNING');
      // Podman cannot remove the container or the volume without disk space for its records.
      execFileSync('mount', ['-o', 'remount,size=64m', state]);
      await driver.retire({}, 0, context);
      await driver.start(workload(1, 'small'), context);
      expect((await driver.awaitReady(workload(1, 'small'), context)).map((instance) => instance.state)).toEqual(['RUNNING']);
      await driver.removeEnvironment('e', context);
    } finally {
      const locations = ownPodmanPaths(state);
      process.kill(Number(readFileSync(locations.pid, 'utf8')), 'SIGTERM');
      execFileSync('umount', ['--lazy', '--recursive', state]);
      rmSync(locations.run, { recursive: true, force: true });
    }
  });
});
