import { AppError, Loop } from '@davit/base';
import type { Needs } from '../../deps.ts';
import { deleteEnvironment } from '../deployment/index.ts';
import { gitCaller } from './caller.ts';
import * as store from './preview-store.ts';

const intervalMilliseconds = 2000;

export interface RemovalLog {
  warn(details: object, message: string): void;
}

export interface PreviewClock {
  /** Looks for previews now instead of at the next interval. */
  look(): void;
  /** Waits for the removals in progress. */
  stop(): Promise<void>;
}

/**
 * Removes previews whose pull request was closed or that have expired, until nothing of them is left. A failed removal
 * is requested again. Several processes may do so in parallel.
 */
export function followPreviews(deps: Needs<'database' | 'engine'>, log: RemovalLog): PreviewClock {
  const remove = async (): Promise<void> => {
    await deps.database.run(store.expirePreviews);
    for (;;) {
      const due = await deps.database.maybe(store.takeClosing);
      if (due === undefined) return;
      await removePreview(deps, log, due);
    }
  };
  const loop = new Loop({
    look: remove,
    everyMilliseconds: intervalMilliseconds,
    // The database is unreachable. The next attempt follows soon, and due previews stay due.
    onError: (error) => log.warn({ err: error }, 'ended previews could not be read'),
  });
  loop.start();
  return { look: () => void loop.wake(), stop: () => loop.stop() };
}

interface Closing {
  readonly id: string;
  readonly organization_id: string;
  readonly environment_id: string | null;
  readonly attempts: number;
}

async function removePreview(
  deps: Needs<'database' | 'engine'>,
  log: RemovalLog,
  { environment_id: environmentId, ...due }: Closing,
): Promise<void> {
  if (environmentId === null) {
    await deps.database.run(store.endPreview, [due.id]);
    return;
  }
  try {
    // Nobody needs the deployment in progress any more. In a later attempt, this would cancel the removal itself.
    if (due.attempts === 1) await cancelDeployment(deps, environmentId);
    await deleteEnvironment(deps, gitCaller(due.organization_id, ''), environmentId);
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return;
    log.warn({ err: error, environmentId }, 'a preview could not be removed; trying again');
  }
}

async function cancelDeployment(deps: Needs<'engine'>, environmentId: string): Promise<void> {
  try {
    await deps.engine.cancel(environmentId, true);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'NOTHING_TO_CANCEL') throw error;
  }
}
