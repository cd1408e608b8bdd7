import { abortable } from '@davit/base';
import { clusterBy, type ClusterDriver, type Use } from '@davit/drivers';

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

/** A part of a driver, or all of it, that is looked for when it is needed. */
export function late<Part>(open: (signal: AbortSignal) => Promise<Part>): Use<Part> {
  return async (signal, action) => action(await open(signal), signal);
}

/** A cluster that is looked for when it is needed. */
export function lateCluster(kind: string, open: (signal: AbortSignal) => Promise<ClusterDriver>): ClusterDriver {
  return clusterBy(kind, late(open));
}
