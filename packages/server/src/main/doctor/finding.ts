/**
 * The result of a check. `ok`: it passed, and `found` describes what was found. `WARN`: it passed with a reservation.
 * `FAIL`: it failed. `advice` says what to do.
 */
export interface Finding {
  readonly grade: 'ok' | 'WARN' | 'FAIL';
  readonly found: string;
  readonly advice?: string;
}

export const ok = (found: string): Finding => ({ grade: 'ok', found });
export const warn = (found: string, advice: string): Finding => ({ grade: 'WARN', found, advice });
export const fail = (found: string, advice: string): Finding => ({ grade: 'FAIL', found, advice });
