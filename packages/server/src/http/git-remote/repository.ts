import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { randomUUID } from 'node:crypto';
import { ownRepositoryFolder } from '@davit/base-node';

const run = promisify(execFile);

/** Largest push in bytes. */
const maximumPushBytes = 1024 * 1024 * 1024;

// Git runs this for each pushed reference, before it changes the reference.
const updateHook = `#!/bin/sh
case "$1" in
  refs/heads/*|refs/davit/*) exit 0 ;;
  refs/tags/*) echo "Davit keeps branches only. Push the branch without its tags: git push REMOTE BRANCH" >&2 ;;
  *) echo "Davit keeps branches only (and davit/*). Push a branch instead of $1." >&2 ;;
esac
exit 1
`;

export type GitService = 'git-upload-pack' | 'git-receive-pack';

/** The repository that Davit keeps for an organization's services of one URL. */
export class OwnRepository {
  readonly folder: string;
  readonly #home: string;

  constructor(root: string, organizationId: string, url: string) {
    this.folder = ownRepositoryFolder(root, organizationId, url);
    this.#home = root;
  }

  /** Makes the repository if it is missing. A process that dies meanwhile leaves nothing that is used. */
  async ensure(branch: string): Promise<void> {
    if (await exists(this.folder)) return;
    const made = `${this.folder}.${randomUUID()}`;
    await mkdir(path.dirname(this.folder), { recursive: true, mode: 0o700 });
    try {
      await run('git', ['init', '--quiet', '--bare', `--initial-branch=${branch}`, made], { env: this.#environment() });
      await mkdir(path.join(made, 'hooks'), { recursive: true });
      await writeFile(path.join(made, 'hooks', 'update'), updateHook, { mode: 0o755 });
      await rename(made, this.folder);
    } catch (error) {
      await rm(made, { recursive: true, force: true });
      // Another process may have made it at the same time.
      if (!(await exists(this.folder))) throw error;
    }
  }

  /** Starts the program that serves one request of git's protocol over HTTP. */
  serve(
    service: GitService,
    { advertises, protocol }: { advertises: boolean; protocol: string },
  ): ChildProcessWithoutNullStreams {
    const settings = [
      'safe.directory=*',
      'receive.fsckObjects=true',
      `receive.maxInputSize=${maximumPushBytes}`,
      'receive.denyDeleteCurrent=refuse',
      'receive.autogc=false',
      'receive.advertisePushOptions=false',
      'gc.auto=0',
    ];
    const args = [
      ...settings.flatMap((setting) => ['-c', setting]),
      service.replace(/^git-/, ''),
      '--stateless-rpc',
      ...(advertises ? ['--advertise-refs'] : []),
      this.folder,
    ];
    return spawn('git', args, { env: { ...this.#environment(), GIT_PROTOCOL: protocol } });
  }

  /** Returns the commit of a branch; null if there is no such branch. */
  async head(branch: string): Promise<string | null> {
    const args = [
      '-c',
      'safe.directory=*',
      '-C',
      this.folder,
      'for-each-ref',
      '--format=%(refname) %(objectname)',
      'refs/heads/',
    ];
    const { stdout } = await run('git', args, { env: this.#environment(), maxBuffer: 16 * 1024 * 1024 });
    const line = stdout.split('\n').find((one) => one.startsWith(`refs/heads/${branch} `));
    return line?.split(' ')[1] ?? null;
  }

  /** Inherits only the path: GIT_* of the caller would change what git does. */
  #environment(): Record<string, string> {
    return { PATH: process.env['PATH'] ?? '', HOME: this.#home, LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1' };
  }
}

async function exists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
