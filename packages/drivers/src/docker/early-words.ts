import { pause } from '@davit/base';
import { describeClosed } from '../shared/closed-ports.ts';
import { isReachable, type Listener } from '../shared/listening.ts';
import type { Inspection, ReadyScope } from './instances.ts';
import { listenersOf } from './listeners-of.ts';

const everyMilliseconds = 1_000;
/**
 * Number of consecutive sightings that count as lasting. Many programs open a port for themselves for a moment; after
 * two sightings in a row the port is assumed to stay.
 */
const sightings = 2;
/** Seconds after which a port other than the expected one is reported. A program may open another port first. */
const otherPortSeconds = 10;

export interface EarlyWords {
  readonly inspection: Inspection;
  /** Returns the ports that are still awaited. */
  readonly missing: () => readonly number[];
  readonly say: (line: string) => void;
}

/**
 * Logs once, as soon as it is visible, why a running instance will hardly become ready: it listens only on its own
 * loopback address, or on another port. The wait continues until its deadline, because some programs do this during
 * their setup. Returns when the signal aborts; never fails.
 */
export async function sayEarly(scope: ReadyScope, { inspection, missing, say }: EarlyWords, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  let seen = 0;
  while (!signal.aborted) {
    await pause(everyMilliseconds, signal);
    if (signal.aborted) return;
    const listeners = await listenersOf(scope.docker, inspection, scope.isLocal, signal).catch(() => null);
    const seconds = Math.round((performance.now() - began) / 1_000);
    if (listeners === null || !isConclusive(listeners, missing(), seconds)) seen = 0;
    else seen += 1;
    if (listeners === null || seen < sightings) continue;
    const { message, hint } = describeClosed(missing(), listeners, seconds);
    say(`${message} ${hint ?? ''}`.trim());
    return;
  }
}

/** Returns whether the listening sockets of an instance explain more than that it is not ready yet. Pure. */
export function isConclusive(listeners: readonly Listener[], missing: readonly number[], seconds: number): boolean {
  if (missing.length === 0) return false;
  const own = listeners.filter(({ port }) => missing.includes(port));
  if (own.length > 0) return own.every((listener) => !isReachable(listener));
  return seconds >= otherPortSeconds && listeners.some(isReachable);
}
