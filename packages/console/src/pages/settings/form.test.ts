import { expect, test } from 'vitest';
import { bodiesOf, isInConflict, lostVolumes, withSetting, type Draft } from './form.ts';
import { isSame, shown, valueAt, withValueAt } from '../../data/paths.ts';

const edits = (...all: (readonly [string, string | number | null])[]): Draft =>
  new Map(all.map(([path, value]) => [path, { value, base: null }]));

test('values are read and written by the paths of their fields', () => {
  const record = { a: { b: 1 }, list: ['x'] };
  expect(valueAt(record, 'a.b')).toBe(1);
  expect(valueAt(record, 'a.b.c')).toBeUndefined();
  expect(valueAt(record, 'list.0')).toBeUndefined();
  expect(withValueAt(record, 'a.c.d', 2)).toEqual({ a: { b: 1, c: { d: 2 } }, list: ['x'] });
  expect(isSame({ a: '', b: [], c: false }, {})).toBe(true);
  expect(isSame(0, null)).toBe(false);
  expect(shown([{ id: '1', mount_point: '/data', size: 2 }])).toBe('mount point /data, size 2');
});

test('an edit inside a field sends all of it, in the shape of requests', () => {
  const git_repository = { url: 'https://x', branch: 'main', root_path: '/', owner: 'acme', provider: 'GIT' };
  expect(bodiesOf(edits(['git_repository.branch', 'next'], ['memory', 600]), { git_repository })).toEqual({
    service: { git_repository: { url: 'https://x', branch: 'next', root_path: '/', git_token_id: undefined }, memory: 600 },
    advanced: null,
  });
  const job = { source: { image: { image_name: 'a', tag: '1', registry_id: 'r', registry: { id: 'r' } } } };
  expect(bodiesOf(edits(['source.image.tag', '2']), job).service).toEqual({
    source: { image: { image_name: 'a', tag: '2', registry_id: 'r' } },
  });
  const chart = { chart_name: 'redis', chart_version: '1', repository: { id: 'h', name: 'x', url: 'y' } };
  expect(bodiesOf(edits(['source.helm_repository.chart_version', '2']), { source: { repository: chart } }).service).toEqual({
    source: { helm_repository: { chart_name: 'redis', chart_version: '2', repository: 'h' } },
  });
  const terraform = { terraform_files_source: { git: { git_repository } } };
  expect(bodiesOf(edits(['terraform_files_source.git_repository.branch', '']), terraform).service).toMatchObject({
    terraform_files_source: { git_repository: { url: 'https://x', branch: null } },
  });
  expect(bodiesOf(edits(['advanced:build.timeout_max_sec', 900]), {})).toEqual({
    service: null,
    advanced: { 'build.timeout_max_sec': 900 },
  });
});

test('an edit ends when its value is the stored one, and is in conflict when somebody else changed that', () => {
  const draft = withSetting(new Map(), 'memory', 600, 512);
  expect(withSetting(draft, 'memory', 512, 512).size).toBe(0);
  expect(isInConflict(draft.get('memory'), 512)).toBe(false);
  expect(isInConflict(draft.get('memory'), 700)).toBe(true);
  const volume = (id: string) => ({ id, mount_point: `/${id}`, size: 1 });
  expect(lostVolumes({ base: [volume('a'), volume('b')], value: [volume('b')] })).toEqual(['/a']);
});
