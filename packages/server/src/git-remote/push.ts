import { createInterface } from 'node:readline';
import { AppError } from '@davit/base';
import type { Database } from '@davit/db';
import type { Caller } from '../auth/caller.ts';
import type { GitProcess } from './git-process.ts';
import type { GitRepositories } from './repositories.ts';
import { addPush, removePush, type PushedRow } from './store.ts';

interface PushParts {
  readonly database: Database;
  readonly repositories: GitRepositories;
}

/**
 * A push, from the report of its hooks until its deployment is requested. It is recorded in the database before the
 * branch changes: whatever dies after that, the pushed commit is deployed.
 */
export class Push {
  readonly #git: GitProcess;
  readonly #row: PushedRow;
  readonly #parts: PushParts;
  #recordedId: string | null = null;

  constructor(git: GitProcess, row: PushedRow, parts: PushParts) {
    this.#git = git;
    this.#row = row;
    this.#parts = parts;
  }

  /**
   * Returns the new commit of the deployed branch once it is stored; null if the push does not change that branch.
   * SOURCE_NOT_USABLE: the push is refused.
   */
  async stored(caller: Caller): Promise<string | null> {
    const { branch, url } = this.#row;
    let commit: string | null = null;
    for await (const line of createInterface({ input: this.#git.report })) {
      if (line === 'end') return commit;
      if (line === 'ready') this.#git.answer.write(`${await this.#record(caller, commit)}\n`);
      const [, next = '', reference] = line.split(' ');
      if (reference === `refs/heads/${branch}` && /[1-9a-f]/.test(next)) commit = next;
    }
    // git was killed, perhaps after it had changed the branch.
    if (commit !== null && this.#recordedId !== null && (await this.#parts.repositories.newest(url, branch)) === commit) {
      return commit;
    }
    await this.forget();
    throw new AppError({ code: 'SOURCE_NOT_USABLE', message: 'The push was refused.' });
  }

  /** Removes the record of the push. */
  async forget(): Promise<void> {
    if (this.#recordedId !== null) await this.#parts.database.run(removePush, [this.#recordedId]);
    this.#recordedId = null;
  }

  /** Returns what the hook waits for: `ok`, or why the push is refused. */
  async #record({ actor, name, origin }: Caller, commit: string | null): Promise<string> {
    if (commit === null) return 'ok';
    try {
      const push = await this.#parts.database.one(addPush, [this.#row.id, commit, actor, name, origin]);
      this.#recordedId = push.id;
      return 'ok';
    } catch {
      return 'The push cannot be recorded at the moment. Push again in a minute.';
    }
  }
}
