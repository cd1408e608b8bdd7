import type { Semaphore } from '../shared/semaphore.ts';
import { Canceled } from './step-run.ts';

interface Signals {
  readonly cancel: AbortSignal;
  readonly abandon: AbortSignal;
}

/** Runs an action when a slot is free. Fails with Canceled at once if that is canceled before. */
export async function inTurn(slots: Semaphore, { cancel, abandon }: Signals, action: () => Promise<void>): Promise<void> {
  let begun = false;
  const begin = (): Promise<void> => {
    begun = true;
    return action();
  };
  try {
    await slots.use(begin, AbortSignal.any([cancel, abandon]));
  } catch (error) {
    throw !begun && cancel.aborted ? new Canceled() : error;
  }
}
