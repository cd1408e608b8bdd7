import { AppError } from '@davit/base';
import { DatabaseUnavailable } from '@davit/db';
import type { Deps } from '../../deps.ts';
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
const lookEveryMilliseconds = 1000;
const keepEveryMilliseconds = 20_000;
const mostAtOnce = 4;

export interface WorkLog {
  warn(details: object, message: string): void;
}

export class GitWorker {
  readonly #deps: Deps;
  readonly #log: WorkLog;
  readonly #underway = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #isStopped = false;

  constructor(deps: Deps, log: WorkLog) {
    this.#deps = deps;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), lookEveryMilliseconds);
  }

  /** Waits for the event in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all(this.#underway);
  }

  /** Processes all due events. A call during a run does nothing. */
  look(): void {
    this.#looking ??= this.#take().finally(() => {
      this.#looking = null;
    });
  }

  async #take(): Promise<void> {
    try {
      while (this.#underway.size < mostAtOnce && !this.#isStopped) {
        const due = await this.#deps.database.maybe(store.takeEvent);
        if (due === undefined) return;
        const work = this.#work(due).finally(() => {
          this.#underway.delete(work);
          // The next event of the repository had to wait for this one.
          if (!this.#isStopped) this.look();
        });
        this.#underway.add(work);
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'events of git hosts could not be read; the next attempt is in a second');
    }
  }

  async #work(row: store.EventRow): Promise<void> {
    const { database } = this.#deps;
    const keeping = setInterval(() => {
      database.run(store.keepEvent, [row.id, row.attempts]).catch((error: unknown) => {
        this.#log.warn({ err: error, event: row.id }, 'an event of a git host could not be kept; another process may repeat it');
      });
    }, keepEveryMilliseconds);
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
      clearInterval(keeping);
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
      const reason = error instanceof TryAgain || error instanceof AppError ? error.message : 'Davit failed; its log says how.';
      if (!(error instanceof TryAgain))
        this.#log.warn({ err: error, event: row.id }, 'an event of a git host could not be followed');
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
