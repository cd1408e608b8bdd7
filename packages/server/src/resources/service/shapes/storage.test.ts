import { expect, test } from 'vitest';
import { Problems } from '../../shared/problems.ts';
import { mountPath, toStorage } from './storage.ts';

function faults(mount_point: string): string[] {
  const problems = new Problems();
  toStorage([{ type: 'FAST_SSD', size: 1, mount_point }], [], problems);
  return problems.found.map(({ path }) => path);
}

test.each([
  '/proc',
  '/proc/1',
  '//sys/',
  '/./sys/fs',
  '/dev',
  '/dev/shm',
  '/etc/passwd',
  '/etc//hosts',
  '/etc/./resolv.conf',
  '/',
  '/.',
  '/\\',
  '/\\.',
  '/a/../b',
  // Podman's compatible API would mount another volume here.
  '/data,source=x',
  '/data"',
  '/data:ro',
  `/${'a'.repeat(256)}`,
  `/${'a/'.repeat(100)}x`,
])('storage is not mounted at %s', (path) => {
  expect(faults(path)).toEqual(['storage.0.mount_point']);
});

test.each(['/data', '/processes', '/system', '/devel/x', '/etc/app', '/srv/proc', '/a.b', '/a/.hidden'])(
  'storage is mounted at %s',
  (path) => {
    expect(faults(path)).toEqual([]);
  },
);

test('paths of the same place have one form', () => {
  expect(['/a/b', '//a///b/', '/./a/./b/.', '/a/.b'].map(mountPath)).toEqual(['/a/b', '/a/b', '/a/b', '/a/.b']);
});
