import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { diskBytes } from './disk-size.ts';
import { openGit } from './git-command.ts';
import { defaultLimits } from './git-watch.ts';
import { parseRepository } from './repository-url.ts';
import { scratchFolder, TestRepository } from './testing.ts';

const scratch = scratchFolder();
afterAll(() => scratch.remove());

test('no file of a fetch grows beyond the disk limit, however fast it grows between two checks', async () => {
  const repository = new TestRepository(join(scratch.path, 'large'));
  repository.commit('first', { large: randomBytes(6 * 1024 * 1024).toString('base64') });
  const folder = join(scratch.path, 'clone');
  mkdirSync(folder);
  execFileSync('git', ['init', '--quiet', folder]);
  const limit = 1024 * 1024;
  const git = await openGit(parseRepository({ url: repository.folder }, { allowLocal: true, maximumBytes: limit }), {
    ...defaultLimits,
    diskBytes: limit,
  });
  const result = await git.run(['-C', folder, 'fetch', `file://${repository.folder}`, 'HEAD'], {
    signal: AbortSignal.timeout(60_000),
  });
  await git.close();
  expect(result).toMatchObject({ exceeded: 'diskBytes' });
  expect(await diskBytes(folder)).toBeLessThan(limit + 256 * 1024);
});
