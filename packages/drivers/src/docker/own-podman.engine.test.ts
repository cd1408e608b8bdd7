import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testEngineKinds } from '@davit/testkit/engines';
import { expect, test } from 'vitest';
import { endProcess, processesWith } from '../shared/processes.ts';
import { ownPodmanPaths, startOwnPodman } from './own-podman.ts';

const signal = new AbortController().signal;

test.runIf(testEngineKinds().includes('podman'))(
  'one Podman service works on a state folder, however often it is started',
  async () => {
    const state = mkdtempSync(join(tmpdir(), 'davit-own-'));
    const { socket, pid, run } = ownPodmanPaths(state);
    const services = (): number[] => processesWith('system', 'service', `unix://${socket}`);
    try {
      const starts = Array.from({ length: 4 }, () => startOwnPodman(state, signal, { subnets: '10.247.0.0/16' }));
      expect(await Promise.all(starts)).toEqual([socket, socket, socket, socket]);
      expect(services()).toEqual([Number(readFileSync(pid, 'utf8'))]);
      const [former] = services();
      expect(await startOwnPodman(state, signal)).toBe(socket);
      expect(services()).toEqual([former]);
      // A service that has died is started again.
      for (const id of services()) await endProcess(id, 5_000, signal);
      expect(await startOwnPodman(state, signal)).toBe(socket);
      expect(services()).toHaveLength(1);
      expect(services()).not.toEqual([former]);
    } finally {
      for (const id of services()) await endProcess(id, 5_000, signal);
      // Podman leaves its storage mounted.
      const mounts = readFileSync('/proc/self/mounts', 'utf8')
        .split('\n')
        .flatMap((line) => line.split(' ')[1] ?? []);
      for (const mount of mounts.filter((location) => location.startsWith(`${state}/`)).toReversed())
        execFileSync('umount', ['--lazy', mount]);
      rmSync(run, { recursive: true, force: true });
      rmSync(state, { recursive: true, force: true });
    }
  },
);
