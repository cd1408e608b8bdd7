import { abortable } from '@davit/base';
import { clusterBy, DriverError, type ClusterDriver, type Use } from '@davit/drivers';

/**
 * Calls `open` until it succeeds, one call at a time however many wait for it. Each waits under its own signal; the search goes
 * on for the others. What takes too long (default: 30 s) fails with a retryable ENGINE_UNREACHABLE, as what does not answer at all.
 */
export function rememberSuccess<Result>(
  open: (signal: AbortSignal) => Promise<Result>,
  withinMilliseconds = openWithinMilliseconds,
): (signal: AbortSignal) => Promise<Result> {
  let known: Result | undefined;
  let opening: Promise<Result> | undefined;
  return async (signal) => {
    if (known !== undefined) return known;
    opening ??= inTime(open, withinMilliseconds).finally(() => (opening = undefined));
    known = await abortable(opening, signal);
    return known;
  };
}

async function inTime<Result>(open: (signal: AbortSignal) => Promise<Result>, milliseconds: number): Promise<Result> {
  const limit = AbortSignal.timeout(milliseconds);
  try {
    return await open(limit);
  } catch (error) {
    if (!limit.aborted || error instanceof DriverError) throw error;
    const message = `it did not answer within ${milliseconds / 1_000} s`;
    throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message, retryable: true, error });
  }
}

// Starting a Podman service of Davit's own takes some seconds on a cold machine.
const openWithinMilliseconds = 30_000;

// For calls that take no signal.
export const forever = new AbortController().signal;

/** A part of a driver, or all of it, that is looked for when it is needed. */
export function late<Part>(open: (signal: AbortSignal) => Promise<Part>): Use<Part> {
  return async (signal, action) => action(await open(signal), signal);
}

/** A cluster that is looked for when it is needed. */
export function lateCluster(kind: string, open: (signal: AbortSignal) => Promise<ClusterDriver>): ClusterDriver {
  const use = late(open);
  return {
    ...clusterBy(kind, use),
    disk: {
      written: (id, signal) => use(signal, async (cluster, within) => (await cluster.disk?.written(id, within)) ?? null),
      remove: (id, graceSeconds, context) =>
        use(context.signal, async (cluster, signal) => cluster.disk?.remove(id, graceSeconds, { ...context, signal })),
    },
  };
}
