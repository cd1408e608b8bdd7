import type { operations, Response } from '@davit/contract';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import type { ServiceReference } from '../../lock.ts';
import { assertVisible } from '../history/history.ts';

export type LogRecord = Response<(typeof operations)['listApplicationLog']>;

const maxLines = 1000;

/** Returns the newest log lines of the service, oldest first. Lines of instances that no longer exist are included. */
export async function readLog(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { id, type }: ServiceReference,
  tail: number = maxLines,
): Promise<LogRecord> {
  await assertVisible(deps, caller, id, type);
  const lines = await deps.engine.serviceLog(deps.database, id, Math.min(tail, maxLines));
  return {
    results: lines.map((line) => ({
      id: line.id,
      created_at: line.at,
      message: line.message,
      pod_name: line.instance,
      ...(line.releaseId === null ? {} : { version: line.releaseId }),
    })),
  };
}
