import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Makes an empty repository with a remote. `git init` and `git remote add` would do the same in two processes, which
 * take longer than the fetch of a small change. See gitrepository-layout(5).
 */
export async function initRepository(directory: string, url: string): Promise<void> {
  const folder = join(directory, '.git');
  for (const name of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags']) {
    await mkdir(join(folder, name), { recursive: true });
  }
  await writeFile(join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  const quoted = `"${url.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  const core = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n';
  const remote = `[remote "origin"]\n\turl = ${quoted}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
  await writeFile(join(folder, 'config'), core + remote);
}
