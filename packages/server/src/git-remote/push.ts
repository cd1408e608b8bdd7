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
  #recorded: { readonly id: string; readonly commit: string } | null = null;

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
      if (line === 'end') {
        if (commit === null) await this.forget();
        return commit;
      }
      if (line === 'ready') {
        this.#git.answer.write(`${await this.#record(caller, commit)}\n`);
        // git may still refuse this branch and take others. The second hook reports what changed.
        commit = null;
        continue;
      }
      const [, next = '', reference] = line.split(' ');
      if (reference === `refs/heads/${branch}` && /[1-9a-f]/.test(next)) commit = next;
    }
    // git was killed, perhaps after it had changed the branch.
    const { commit: expected } = this.#recorded ?? {};
    if (expected !== undefined && (await this.#parts.repositories.newest(url, branch)) === expected) return expected;
    await this.forget();
    throw new AppError({ code: 'SOURCE_NOT_USABLE', message: 'The push was refused.' });
  }

  /** Removes the record of the push. */
  async forget(): Promise<void> {
    if (this.#recorded !== null) await this.#parts.database.run(removePush, [this.#recorded.id]);
    this.#recorded = null;
  }

  /** Returns what the hook waits for: `ok`, or why the push is refused. */
  async #record({ actor, name, origin }: Caller, commit: string | null): Promise<string> {
    if (commit === null) return 'ok';
    try {
      const { id } = await this.#parts.database.one(addPush, [this.#row.id, commit, actor, name, origin]);
      this.#recorded = { id, commit };
      return 'ok';
    } catch {
      return 'The push cannot be recorded at the moment. Push again in a minute.';
    }
  }
}
