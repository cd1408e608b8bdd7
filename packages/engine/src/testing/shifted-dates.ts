import { vi } from 'vitest';

/**
 * Does something on a machine whose clock is wrong by so many milliseconds; less than 0: late. Only what asks for the present time as a date
 * gets it: pauses are measured by another clock of the machine.
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
