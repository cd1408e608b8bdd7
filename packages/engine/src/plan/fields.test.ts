import { expect, test } from 'vitest';
import { config } from '../testing/config.ts';
import { changedFields, fieldsOf, type ReleaseContent } from './fields.ts';

const content = (overrides: Parameters<typeof config>[0] = {}, more: Partial<ReleaseContent> = {}): ReleaseContent => ({
  config: config(overrides),
  commit: null,
  imageId: null,
  ...more,
});
const valuesOf = (release: ReleaseContent) => Object.fromEntries(fieldsOf(release).map(({ path, value }) => [path, value]));

test('settings have the words of the API, lists by name, and no value of a secret', () => {
  const fields = valuesOf(
    content(
      {
        arguments: ['--port', '1 2'],
        environment: [
          { name: 'MODE', parts: ['fast'] },
          { name: 'EMPTY', parts: [] },
          { name: 'URL', parts: ['pg://', { secret: 's1' }, '@host'] },
        ],
        files: [{ path: '/etc/app.conf', parts: ['a=1'] }],
        volumes: [{ id: 'v', mountPath: '/data', sizeGiB: 2 }],
        options: { gateway: { http: { headers: { 'X-Team': 'shop' } } } },
        job: {
          events: { START: { entrypoint: [], arguments: ['go'] } },
          schedule: null,
          maximumRestarts: 1,
          maximumSeconds: null,
        },
      },
      { commit: { id: 'abc' }, imageId: 'sha256:1' },
    ),
  );
  expect(fields).toMatchObject({
    arguments: '["--port","1 2"]',
    commit: 'abc',
    cpu: '500',
    'files./etc/app.conf': 'a=1',
    'job.events.START.arguments': '["go"]',
    memory: '128',
    'options.gateway.http.headers.X-Team': 'shop',
    'ports.p3000.internal_port': '3000',
    'source.dockerfile_path': 'Dockerfile',
    'variables.EMPTY': '',
    'variables.MODE': 'fast',
    'variables.URL': null,
    'volumes./data.id': 'v',
    'volumes./data.size': '2',
  });
  // Built images are known by their commit. Ids of ports, and what is not set, say nothing.
  expect(Object.keys(fields).filter((path) => /image_digest|ports.*\.id|target_stage|version/.test(path))).toEqual([]);
});

test('two releases differ in what was added, changed and removed, also where only the version of a secret is new', () => {
  const image = { type: 'IMAGE', image: 'hub/app', tag: '7', registryId: null } as const;
  const before = content({
    source: image,
    environment: [
      { name: 'GONE', parts: ['1'] },
      { name: 'KEY', parts: [{ secret: 'one' }] },
      { name: 'SAME', parts: [{ secret: 'same' }] },
    ],
  });
  const after = content({
    source: { ...image, tag: '8' },
    environment: [
      { name: 'KEY', parts: [{ secret: 'two' }] },
      { name: 'NEW', parts: ['1'] },
      { name: 'SAME', parts: [{ secret: 'same' }] },
    ],
  });
  expect(changedFields(fieldsOf(before), fieldsOf(after))).toEqual([
    { path: 'source.tag', kind: 'CHANGED' },
    { path: 'variables.GONE', kind: 'REMOVED' },
    { path: 'variables.KEY', kind: 'CHANGED' },
    { path: 'variables.NEW', kind: 'ADDED' },
  ]);
  const moved = fieldsOf({ ...after, imageId: 'sha256:2' });
  expect(changedFields(fieldsOf({ ...after, imageId: 'sha256:1' }), moved)).toEqual([{ path: 'image_digest', kind: 'CHANGED' }]);
  expect(changedFields(fieldsOf(after), moved)).toEqual([]);
});

test('values of a chart and variables of Terraform have their names', () => {
  const values = { set: [['image.tag', '7']], set_string: [], set_json: [], file: null };
  const chart = content({
    source: {
      type: 'HELM',
      git: null,
      chart: { repository: 'r', chart_name: 'redis', chart_version: '1' },
      arguments: [],
      allowClusterWideResources: false,
      values,
      ports: [],
      timeoutSeconds: 600,
    },
  });
  expect(valuesOf(chart)).toMatchObject({ 'source.values.set.image.tag': '7', 'source.chart.chart_version': '1' });
});
