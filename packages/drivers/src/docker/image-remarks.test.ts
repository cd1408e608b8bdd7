import { expect, test } from 'vitest';
import type { Probe, Workload } from '../workload.ts';
import { imageRemarks } from './image-remarks.ts';

const none = { volumes: [], readiness: null };
const volume = (mountPath: string): Workload['volumes'] => [{ id: 'v', mountPath, sizeGiB: 1 }];

test('volumes of an image whose data is lost are named, those that a storage keeps are not', () => {
  const image = { Volumes: { '/data': {}, '/var/cache': {} } };
  expect(imageRemarks(image, none)).toEqual([expect.stringMatching(/VOLUME \/data \/var\/cache: .* lost .*mount_point/)]);
  expect(imageRemarks(image, { ...none, volumes: volume('/data/') })).toEqual([expect.stringContaining('VOLUME /var/cache:')]);
  // A storage mounted at a parent folder does not cover the declared volume.
  expect(imageRemarks(image, { ...none, volumes: volume('/') })).toEqual([expect.stringContaining('VOLUME /data /var/cache:')]);
  expect(imageRemarks({ Volumes: null }, none)).toEqual([]);
});

test('a health check that decides nothing is said, unless there is a readiness probe', () => {
  const image = { Healthcheck: { Test: ['CMD-SHELL', 'curl -f localhost'] } };
  expect(imageRemarks(image, none)).toEqual([
    expect.stringMatching(/HEALTHCHECK of the image \(curl -f localhost\) .*readiness_probe/),
  ]);
  const probe = { check: { type: 'tcp', port: 1 } } as unknown as Probe; // oxlint-disable-line typescript/no-unsafe-type-assertion -- only that there is one counts
  expect(imageRemarks(image, { ...none, readiness: probe })).toEqual([]);
  expect(imageRemarks({ Healthcheck: { Test: ['NONE'] } }, none)).toEqual([]);
});
