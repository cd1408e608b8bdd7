import { expect, test } from 'vitest';
import type { Probe, Workload } from '../workload.ts';
import { remarksOf } from './image-remarks.ts';

const none = { volumes: [], readiness: null };
const volume = (mountPath: string): Workload['volumes'] => [{ id: 'v', mountPath, sizeGiB: 1 }];

test('volumes of an image whose data is lost are named, those that a storage keeps are not', () => {
  const image = { Config: { Volumes: { '/data': {}, '/var/cache': {} } } };
  expect(remarksOf(image, none)).toEqual([expect.stringMatching(/VOLUME \/data \/var\/cache: .* lost .*mount_point/)]);
  expect(remarksOf(image, { ...none, volumes: volume('/data/') })).toEqual([expect.stringContaining('VOLUME /var/cache:')]);
  // A storage mounted at a parent folder does not cover the declared volume.
  expect(remarksOf(image, { ...none, volumes: volume('/') })).toEqual([expect.stringContaining('VOLUME /data /var/cache:')]);
  expect(remarksOf({ Config: { Volumes: null } }, none)).toEqual([]);
});

test('a health check that decides nothing is said, unless there is a readiness probe', () => {
  const image = { Config: { Healthcheck: { Test: ['CMD-SHELL', 'curl -f localhost'] } } };
  expect(remarksOf(image, none)).toEqual([
    expect.stringMatching(/HEALTHCHECK of the image \(curl -f localhost\) .*readiness_probe/),
  ]);
  const probe = { check: { type: 'tcp', port: 1 } } as unknown as Probe; // oxlint-disable-line typescript/no-unsafe-type-assertion -- only that there is one counts
  expect(remarksOf(image, { ...none, readiness: probe })).toEqual([]);
  expect(remarksOf({ Config: { Healthcheck: { Test: ['NONE'] } } }, none)).toEqual([]);
});
