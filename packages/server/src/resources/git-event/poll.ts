import { Loop } from '@davit/base';
import type { Needs } from '../../deps.ts';
import { TryAgain } from './attempt.ts';
import { RepositoryLook } from './changes.ts';
import type { PushEvent } from './event.ts';
import * as polls from './poll-store.ts';
import * as store from './store.ts';

const lookEveryMilliseconds = 2000;
// This query scans all services, so it does not run with every poll.
const findEveryMilliseconds = 30_000;
const maxAtOnce = 4;
// Factor by which repositories with a working webhook are polled less often. The webhook reports pushes at once, and
// polling finds the deliveries that the host lost.
const rarelyWithWebhook = 10;
const longestPauseSeconds = 3600;

export interface PollLog {
  warn(details: object, message: string): void;
}

export interface PollClock {
  /** Polls now instead of at the next interval. */
  look(): void;
  /** Waits for the polls in progress. */
  stop(): Promise<void>;
}

export interface PollTiming {
  /** Maximum delay in milliseconds until a new repository is polled for the first time. Default: 30,000. */
  readonly findEveryMilliseconds?: number;
}

/**
 * Polls the branches of repositories that services with auto_deploy follow, to find pushes that no webhook reported.
 * These pushes are processed like reported ones. Several processes may poll in parallel; each repository is taken by
 * one process.
 */
export function followRepositories(
  deps: Needs<'database' | 'engine', 'gitPollSeconds'>,
  log: PollLog,
  timing: PollTiming = {},
): PollClock {
  if (deps.config.gitPollSeconds === 0) return { look: () => undefined, stop: () => Promise.resolve() };
  let foundAt = Number.NEGATIVE_INFINITY;
  const one = async (): Promise<void> => {
    for (;;) {
      const due = loop.signal.aborted ? undefined : await deps.database.maybe(polls.takeRepository);
      if (due === undefined) return;
      await poll(deps, log, due);
    }
  };
  const all = async (): Promise<void> => {
    if (performance.now() - foundAt >= (timing.findEveryMilliseconds ?? findEveryMilliseconds)) {
      await deps.database.run(polls.findRepositories);
      foundAt = performance.now();
    }
    await Promise.all(Array.from({ length: maxAtOnce }, one));
  };
  const loop = new Loop({
    look: all,
    everyMilliseconds: lookEveryMilliseconds,
    // The database is unreachable. The next attempt follows soon, and due repositories stay due.
    onError: (error) => log.warn({ err: error }, 'repositories could not be polled'),
  });
  loop.start();
  return { look: () => void loop.wake(), stop: () => loop.stop() };
}

async function poll(deps: Needs<'database' | 'engine', 'gitPollSeconds'>, log: PollLog, row: polls.PolledRow): Promise<void> {
  const { organization_id, repository } = row;
  const interval = deps.config.gitPollSeconds;
  try {
    await findPushes(deps, row, row.has_webhook ? interval * rarelyWithWebhook : interval);
  } catch (error) {
    if (!(error instanceof TryAgain)) log.warn({ err: error, repository }, 'a repository could not be polled');
    const pause = Math.min(longestPauseSeconds, interval * 2 ** Math.min(row.failures + 1, 12));
    const why = error instanceof TryAgain ? error.message : 'Davit failed; its log has the details.';
    await deps.database.run(polls.failPoll, [organization_id, repository, why, pause]);
  }
}

async function findPushes(deps: Needs<'database' | 'engine'>, row: polls.PolledRow, pauseSeconds: number): Promise<void> {
  const { organization_id, repository, heads: former } = row;
  const all = await deps.database.many(store.candidates, [organization_id, repository]);
  const services = all.filter(({ auto_deploy }) => auto_deploy);
  const [first] = services;
  if (first === undefined) {
    await deps.database.run(polls.endPoll, [organization_id, repository, null, pauseSeconds]);
    return;
  }
  const { branches, defaultBranch } = await new RepositoryLook(deps, services).heads();
  const followed = new Set(services.map(({ branch }) => branch ?? defaultBranch).filter((branch) => branch !== null));
  const present: Record<string, string> = {};
  for (const branch of followed) {
    const commit = branches.get(branch);
    if (commit !== undefined) present[branch] = commit;
  }
  await deps.database.transaction(async (tx) => {
    for (const [branch, after] of Object.entries(present)) {
      // Commits that existed at the first poll are not a push.
      const before = former?.[branch];
      if (before === undefined || before === after) continue;
      // The webhook has already reported this push.
      if ((await tx.one(polls.isKnown, [organization_id, repository, branch, after])).known) continue;
      const event: PushEvent = { kind: 'PUSH', branch, before, after, isForced: null, defaultBranch, author: '' };
      const name = `poll ${branch} ${before} ${after}`;
      const values = [organization_id, repository, 'POLLING', name, 'PUSH', JSON.stringify(event), 'WAITING', null];
      await tx.maybe(store.recordEvent, values);
    }
    await tx.run(polls.endPoll, [organization_id, repository, JSON.stringify(present), pauseSeconds]);
  });
}
