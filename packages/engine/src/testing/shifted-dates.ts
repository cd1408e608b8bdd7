import { vi } from 'vitest';

/**
 * Runs an action while the clock of the machine is wrong by this number of milliseconds; a negative number means that
 * the clock is slow. Only reads of the current time through `Date` are shifted. Pauses are unaffected, because they use
 * another clock of the machine.
 */
export async function withShiftedDates<Result>(milliseconds: number, action: () => Promise<Result> | Result): Promise<Result> {
  class ShiftedDate extends Date {
    constructor(...values: [] | [string | number | Date]) {
      super(values[0] ?? Date.now() + milliseconds);
    }
  }
  vi.stubGlobal('Date', ShiftedDate);
  try {
    return await action();
  } finally {
    vi.unstubAllGlobals();
  }
}
