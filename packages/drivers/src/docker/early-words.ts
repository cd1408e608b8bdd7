import { describeClosed } from '../shared/closed-ports.ts';
import { isReachable, type Listener } from '../shared/listening.ts';
import { pause } from '../shared/pause.ts';
import type { Inspection } from './instances.ts';
import { listenersOf } from './listeners-of.ts';
import type { ReadyScope } from './ready.ts';

const everyMilliseconds = 1_000;
/** Many programs open a port for themselves for a moment; one that does so twice in a row stays. */
const sightings = 2;
/** A program may open another port first: only after a while that is worth a word. */
const otherPortSeconds = 10;

export interface EarlyWords {
  readonly inspection: Inspection;
  /** Ports that are waited for. */
  readonly missing: () => readonly number[];
  readonly say: (line: string) => void;
}

/**
 * Says as soon as it can be seen, once, why an instance that runs will hardly become ready: it listens on its own address only, or on another
 * port. The wait goes on until its time is over, as some programs do so while they set themselves up. Ends with the signal; never fails.
 */
export async function sayEarly(scope: ReadyScope, { inspection, missing, say }: EarlyWords, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  let seen = 0;
  while (!signal.aborted) {
    await pause(everyMilliseconds, signal).catch(() => undefined);
    if (signal.aborted) return;
    const listeners = await listenersOf(scope.docker, inspection, scope.isLocal, signal).catch(() => null);
    const seconds = Math.round((performance.now() - began) / 1_000);
    if (listeners === null || !isTelling(listeners, missing(), seconds)) seen = 0;
    else seen += 1;
    if (listeners === null || seen < sightings) continue;
    const { message, hint } = describeClosed(missing(), listeners, seconds);
    say(`${message} ${hint ?? ''}`.trim());
    return;
  }
}

/** Whether what an instance listens on says more than that it is not ready yet. Pure. */
export function isTelling(listeners: readonly Listener[], missing: readonly number[], seconds: number): boolean {
  if (missing.length === 0) return false;
  const own = listeners.filter(({ port }) => missing.includes(port));
  if (own.length > 0) return own.every((listener) => !isReachable(listener));
  return seconds >= otherPortSeconds && listeners.some(isReachable);
}
