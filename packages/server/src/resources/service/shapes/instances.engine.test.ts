import { randomUUID } from 'node:crypto';
import { DriverError, type ClusterDriver, type Workload } from '@davit/drivers';
import { testEngineKinds } from '@davit/testkit/engines';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toArchive } from '../../../../../drivers/src/docker/archive.ts';
import {
  fullTraits,
  toArchiveEntries,
  toContainerBody,
  type HostTraits,
} from '../../../../../drivers/src/docker/container-spec.ts';
import { createDockerDriver } from '../../../../../drivers/src/docker/driver.ts';
import { call, EngineRefusal } from '../../../../../drivers/src/docker/engine-api.ts';
import { lowered } from '../../../../../drivers/src/docker/refusals.ts';
import { busybox, openTestBed, type TestBed } from '../../../../../drivers/src/docker/testing.ts';
import { accepted, anyService, type TestService } from './testing.ts';

/*
 * Engines must create a container for every service that the API accepts. Containers are created, filled with their
 * files, and removed; they are not started.
 */

const signal = new AbortController().signal;
const context = { signal, log: () => undefined };
const mostVolumes = 50;

const largest: readonly (readonly [string, TestService])[] = [
  ['the least cpu and memory', { request: { cpu: 10, memory: 6 } }],
  ['the most cpu and memory', { request: { cpu: 2_147_483_647, memory: 2_147_483_647 } }],
  ['the longest grace', { request: {}, settings: { 'deployment.termination_grace_period_seconds': 3600 } }],
  [
    'as many ports as there may be',
    {
      request: {
        ports: Array.from({ length: 100 }, (_, index) => ({
          internal_port: 65_535 - index,
          publicly_accessible: false,
          protocol: (['HTTP', 'GRPC', 'TCP', 'UDP'] as const)[index % 4] ?? 'HTTP',
        })),
      },
    },
  ],
  [
    'as many volumes as there may be, the longest paths among them',
    {
      request: {
        storage: Array.from({ length: mostVolumes }, (_, index) => ({
          type: 'FAST_SSD' as const,
          size: 65_536,
          mount_point: `/${`${index}/`.padEnd(190, 'a/')}x`,
        })),
      },
    },
  ],
  ...["'", '=', '\\', ' ', 'a b', '$HOME', '%s', 'ü', '🚢', '*', '~', '#'].map((mark): readonly [string, TestService] => [
    `a volume at /data${mark}`,
    { request: { storage: [{ type: 'FAST_SSD', size: 1, mount_point: `/data${mark}` }] } },
  ]),
  ['the longest name', { request: { name: '🚢'.repeat(127) } }],
  ['the most arguments', { request: { arguments: Array.from({ length: 1000 }, (_, index) => `--${index}`.padEnd(100, 'x')) } }],
  ['the longest argument', { request: { arguments: ['漢'.repeat(10_000)], entrypoint: '/bin/true' } }],
  ['an empty word as program', { request: { entrypoint: "''", arguments: [''] } }],
  [
    'marks in arguments',
    { request: { arguments: ['--', '-', '{}', '["a"]', '$(A)', '\n', '\t', '\u202e'], entrypoint: 'sh -c "a b"' } },
  ],
  ['the longest value of a variable', { request: {}, variables: [{ key: 'A', value: 'x'.repeat(131_069) }] }],
  [
    'marks in values',
    { request: {}, variables: ['a=b', '*', '$A', '\n', '"', '', ' '].map((value, index) => ({ key: `A${index}`, value })) },
  ],
  ['the longest key', { request: {}, variables: [{ key: `A${'b'.repeat(254)}`, value: '' }] }],
  ['the longest path of a file', { request: {}, variables: [{ key: 'A', value: 'x', mountPath: `/${'a/'.repeat(98)}x` }] }],
  ['a file of a long name', { request: {}, variables: [{ key: 'A', value: 'x', mountPath: `/opt/${'ü'.repeat(127)}` }] }],
  ['a large file', { request: {}, variables: [{ key: 'A', value: 'x'.repeat(524_288), mountPath: '/opt/large' }] }],
  ...['/bin', '/opt/a\\b', '/opt/ ', '/opt/"', '/opt/./x', '/etc/hosts'].map((mountPath): readonly [string, TestService] => [
    `a file at ${mountPath}`,
    { request: {}, variables: [{ key: 'A', value: 'x', mountPath }] },
  ]),
];

for (const kind of testEngineKinds()) {
  describe(`${kind} creates what the API accepts:`, () => {
    const owner = { installation: `test-${randomUUID()}`, organization: 'o', project: 'p', environment: randomUUID() };
    const volumes = Array.from({ length: mostVolumes }, () => randomUUID());
    let bed: TestBed;
    let driver: ClusterDriver;
    let traits: HostTraits;

    beforeAll(async () => {
      bed = await openTestBed(kind);
      driver = createDockerDriver({ ...bed.opened, installation: owner.installation });
      traits = { ...fullTraits, cpuMillicores: bed.opened.cpuMillicores };
      // Creates the network of the environment, and the volumes.
      const first = accepted({ request: {} }, place());
      if (typeof first !== 'object') throw new Error(first);
      const mounted = volumes.map((id, index) => ({ id, mountPath: `/volume-${index}`, sizeGiB: 1 }));
      const keeper = { ...first, entrypoint: ['/bin/true'], volumes: mounted, runsOnce: true as const };
      await driver.start(keeper, context);
    });
    afterAll(() => driver?.removeEnvironment(owner.environment, context));

    const place = () => ({ driver: 'docker', owner: { ...owner, service: randomUUID() }, image: busybox });

    /** Returns the refusal of Davit or of the engine, or null. */
    async function refusal(workload: Workload): Promise<DriverError | string | null> {
      const name = `davit-test-${randomUUID()}`;
      // The image of the test has no command of its own.
      const program = workload.entrypoint.length + workload.arguments.length > 0 ? workload.arguments : ['/bin/true'];
      const known = {
        ...workload,
        arguments: program,
        volumes: workload.volumes.map((volume, index) => ({ ...volume, id: volumes[index] ?? '' })),
      };
      try {
        const body = toContainerBody(known, 0, traits);
        await call(bed.opened.docker, { method: 'POST', path: '/containers/create', query: { name }, body, signal });
        if (known.files.length > 0) {
          const archive = await toArchive(toArchiveEntries(known.files), []);
          await call(bed.opened.docker, {
            method: 'PUT',
            path: `/containers/${name}/archive`,
            query: { path: '/' },
            archive,
            signal,
          });
        }
        return null;
      } catch (error) {
        if (error instanceof DriverError) return error;
        const lower = lowered(error, traits, known);
        if (lower === null) return error instanceof EngineRefusal ? error.words : String(error);
        traits = lower.traits;
        return await refusal(workload);
      } finally {
        const query = { force: 'true', v: 'false' };
        await call(bed.opened.docker, { method: 'DELETE', path: `/containers/${name}`, query, signal, accept: [404] });
      }
    }

    test.each(largest)('%s', async (_name, service) => {
      const workload = accepted(service, place());
      if (typeof workload === 'string') throw new Error(workload);
      expect(await refusal(workload)).toBeNull();
    });

    test('services of random values', async () => {
      let count = 0;
      const property = fc.asyncProperty(anyService, async (service) => {
        const workload = accepted(service, place());
        if (typeof workload !== 'object') return;
        count += 1;
        const found = await refusal(workload);
        // A file may have the path of a volume. They belong to different records, so only the start refuses this.
        const isExplained = found instanceof DriverError && found.code === 'START_FAILED' && found.hint !== undefined;
        expect(isExplained ? null : found).toBeNull();
      });
      await fc.assert(property, { numRuns: 150 });
      expect(count).toBeGreaterThan(20);
    });
  });
}
