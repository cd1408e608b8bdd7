import { abortable } from '@davit/base';
import type { ClusterDriver } from '@davit/drivers';

/**
 * Calls `open` until it succeeds, one call at a time however many wait for it. Each waits under its own signal; the search goes
 * on for the others.
 */
export function rememberSuccess<Result>(
  open: (signal: AbortSignal) => Promise<Result>,
): (signal: AbortSignal) => Promise<Result> {
  let known: Result | undefined;
  let opening: Promise<Result> | undefined;
  return async (signal) => {
    if (known !== undefined) return known;
    opening ??= open(AbortSignal.timeout(openWithinMilliseconds)).finally(() => (opening = undefined));
    known = await abortable(opening, signal);
    return known;
  };
}

// Starting a Podman service of Davit's own takes some seconds on a cold machine.
const openWithinMilliseconds = 30_000;

// For calls that take no signal.
export const forever = new AbortController().signal;

/** A cluster that is looked for when it is needed. */
export function lateCluster(kind: string, open: (signal: AbortSignal) => Promise<ClusterDriver>): ClusterDriver {
  return {
    kind,
    describe: async (signal) => (await open(signal)).describe(signal),
    start: async (workload, context) => (await open(context.signal)).start(workload, context),
    awaitReady: async (workload, context) => (await open(context.signal)).awaitReady(workload, context),
    observe: async (selector, signal) => (await open(signal)).observe(selector, signal),
    retire: async (selector, graceSeconds, context) => (await open(context.signal)).retire(selector, graceSeconds, context),
    revive: async (instanceId, context) => (await open(context.signal)).revive(instanceId, context),
    removeService: async (environment, service, context) =>
      (await open(context.signal)).removeService(environment, service, context),
    removeEnvironment: async (environment, context) => (await open(context.signal)).removeEnvironment(environment, context),
    probe: async (workload, instance, which, signal) => (await open(forever)).probe(workload, instance, which, signal),
    followLogs: async (instanceId, since, onLine, signal) => (await open(signal)).followLogs(instanceId, since, onLine, signal),
    readFile: async (instanceId, file, signal) => (await open(signal)).readFile(instanceId, file, signal),
    takeOut: async (instanceId, from, signal) => (await open(signal)).takeOut(instanceId, from, signal),
    putInto: async (instanceId, what, signal) => (await open(signal)).putInto(instanceId, what, signal),
    watch: async (onEvent, signal) => (await open(signal)).watch(onEvent, signal),
    metrics: {
      usage: async (signal) => (await open(signal)).metrics?.usage(signal) ?? [],
      volumes: async (signal) => (await open(signal)).metrics?.volumes(signal) ?? [],
    },
  };
}
