import { abortable } from '@davit/base';
import { proxyCluster, DriverError, type ClusterDriver, type Use } from '@davit/drivers';

/**
 * Returns a function that calls `open` until it succeeds and then returns the same result. Concurrent callers share one
 * call. Each waits under its own signal; aborting it does not stop the call for the others. A call that exceeds the
 * timeout (default: 30 s) fails with a retryable ENGINE_UNREACHABLE, like an unreachable engine.
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

// Starting Davit's own Podman service takes some seconds on a cold machine.
const openWithinMilliseconds = 30_000;

/** Returns a driver, or a part of one, that is opened when it is first needed. */
export function late<Part>(open: (signal: AbortSignal) => Promise<Part>): Use<Part> {
  return async (signal, action) => action(await open(signal), signal);
}

/** Returns a cluster that is opened when it is first needed. */
export function lateCluster(kind: string, open: (signal: AbortSignal) => Promise<ClusterDriver>): ClusterDriver {
  const use = late(open);
  return {
    ...proxyCluster(kind, use),
    addresses: {
      point: (services, signal) => use(signal, async (cluster, within) => cluster.addresses?.point(services, within)),
    },
    disk: {
      written: (id, signal) => use(signal, async (cluster, within) => (await cluster.disk?.written(id, within)) ?? null),
      remove: (id, graceSeconds, context) =>
        use(context.signal, async (cluster, signal) => cluster.disk?.remove(id, graceSeconds, { ...context, signal })),
    },
  };
}
