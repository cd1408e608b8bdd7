import type { ClusterDisk } from '../driver.ts';
import { call } from './engine-api.ts';
import type { Scope } from './instances.ts';
import { translated } from './refusals.ts';
import { removeInstance } from './removal.ts';

/**
 * Timeout in milliseconds for the engine to measure the files of one container. A longer measurement would not finish
 * within one pass of the watch.
 */
const countMilliseconds = 60_000;

/** The optional power "disk" of a container engine. */
export function engineDisk(scope: Scope): ClusterDisk {
  return {
    written: async (id, signal) => {
      try {
        const answer = await call<{ readonly SizeRw?: number }>(scope.docker, {
          method: 'GET',
          path: `/containers/${encodeURIComponent(id)}/json`,
          query: { size: 'true' },
          signal,
          accept: [404],
          timeoutMilliseconds: countMilliseconds,
        });
        return answer.status === 404 ? null : (answer.body.SizeRw ?? null);
      } catch (error) {
        throw translated(error, 'The disk usage of an instance could not be measured');
      }
    },
    remove: (id, graceSeconds, context) => removeInstance(scope, id, graceSeconds, context),
  };
}
