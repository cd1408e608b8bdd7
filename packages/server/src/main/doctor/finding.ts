/** Something that works (`found` says what it is), works with a reservation, or does not. `advice`: what to do about it. */
export interface Finding {
  readonly grade: 'ok' | 'WARN' | 'FAIL';
  readonly found: string;
  readonly advice?: string;
}

export const ok = (found: string): Finding => ({ grade: 'ok', found });
export const warn = (found: string, advice: string): Finding => ({ grade: 'WARN', found, advice });
export const fail = (found: string, advice: string): Finding => ({ grade: 'FAIL', found, advice });

/** What a check that was expected to throw has to say, in its first words. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
