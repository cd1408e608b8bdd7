import { AppError, Loop } from '@davit/base';
import { DatabaseUnavailable, gitEventChannel, listen, type Listener } from '@davit/db';
import type { Needs } from '../../deps.ts';
import type { GitEventDeps } from './deps.ts';
import { TryAgain } from './attempt.ts';
import { followPullRequest } from './pull-request.ts';
import { followPush } from './push.ts';
import * as store from './store.ts';

/*
 * Processes recorded events. The events of each repository are processed in order and one at a time, no matter how many
 * processes there are. If a process dies, its event is taken again after a minute. Processing continues with the
 * services that have no verdict yet.
 */

/**
 * Seconds before the second and further attempts. After the last attempt the event is FAILED, unless the database is
 * unreachable.
 */
const pausesSeconds = [5, 15, 60, 300, 900] as const;
// A notification wakes the worker when an event is recorded. The timer finds events that are due again.
const lookEveryMilliseconds = 1000;
const keepEveryMilliseconds = 20_000;
const maxAtOnce = 4;

export interface WorkLog {
  warn(details: object, message: string): void;
}

type WorkDeps = GitEventDeps & Needs<'counts'>;

export class GitWorker {
  readonly #deps: WorkDeps;
  readonly #log: WorkLog;
  readonly #underway = new Set<Promise<void>>();
  readonly #loop: Loop;
  #listener: Listener | undefined;

  /** @param everyMilliseconds pause between looks that no notification asked for. */
  constructor(deps: WorkDeps, log: WorkLog, everyMilliseconds: number = lookEveryMilliseconds) {
    this.#deps = deps;
    this.#log = log;
    this.#loop = new Loop({
      look: () => this.#take(),
      everyMilliseconds,
      onError: (error) => log.warn({ err: error }, 'events of git hosts could not be read; the next attempt is in a second'),
    });
  }

  /**
   * Processes events as soon as they are recorded, by whichever process. Fails with `DatabaseUnavailable`; nothing was
   * started then.
   */
  async start(connectionString: string): Promise<void> {
    const wake = (): void => this.look();
    this.#listener = await listen({ connectionString, channels: [gitEventChannel], onNotification: wake, onReconnect: wake });
    this.#loop.start();
    wake();
  }

  /** Waits for the event in progress. */
  async stop(): Promise<void> {
    await this.#listener?.close();
    await this.#loop.stop();
    await Promise.all(this.#underway);
  }

  /** Processes all due events. */
  look(): void {
    void this.#loop.wake();
  }

  async #take(): Promise<void> {
    while (this.#underway.size < maxAtOnce && !this.#loop.signal.aborted) {
      const due = await this.#deps.database.maybe(store.takeEvent);
      if (due === undefined) return;
      const work = this.#work(due).finally(() => {
        this.#underway.delete(work);
        // The next event of the repository had to wait for this one.
        this.look();
      });
      this.#underway.add(work);
    }
  }

  async #work(row: store.EventRow): Promise<void> {
    const { database } = this.#deps;
    const keeping = new Loop({
      look: () => database.run(store.keepEvent, [row.id, row.attempts]),
      everyMilliseconds: keepEveryMilliseconds,
      onError: (error) =>
        this.#log.warn(
          { err: error, event: row.id },
          'the claim on an event of a git host could not be renewed; another process may repeat it',
        ),
    });
    keeping.start();
    try {
      const [status, reason, pause] = await this.#outcome(row);
      this.#deps.counts.gitEventAttempted(status === 'WAITING' ? 'RETRIED' : status);
      await database.run(store.endEvent, [row.id, status, reason, pause]);
    } catch (error) {
      this.#log.warn(
        { err: error, event: row.id },
        'the end of an event of a git host could not be written; it will be repeated',
      );
    } finally {
      await keeping.stop();
    }
  }

  /** Returns the status, the reason and the pause before the next attempt. */
  async #outcome(row: store.EventRow): Promise<readonly ['DONE' | 'WAITING' | 'FAILED', string | null, number | null]> {
    try {
      return ['DONE', await this.#follow(row), null];
    } catch (error) {
      // A failure due to an unreachable database says nothing about the event, which stays due until the database is
      // back.
      const last = error instanceof DatabaseUnavailable ? pausesSeconds.at(-1) : null;
      const pause = pausesSeconds[row.attempts - 1] ?? last ?? null;
      const reason =
        error instanceof TryAgain || error instanceof AppError ? error.message : 'Davit failed; its log has the details.';
      if (!(error instanceof TryAgain))
        this.#log.warn({ err: error, event: row.id }, 'an event of a git host could not be processed');
      return [pause === null ? 'FAILED' : 'WAITING', reason, pause];
    }
  }

  /** If nothing was done for the same reason for all services, returns that reason. */
  async #follow({ event, ...row }: store.EventRow): Promise<string | null> {
    if (event.kind === 'PUSH') return followPush(this.#deps, { ...row, event });
    if (event.kind === 'PULL_REQUEST') return followPullRequest(this.#deps, { ...row, event });
    return null;
  }
}
