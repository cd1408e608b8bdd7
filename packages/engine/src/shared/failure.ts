import { isAppError } from '@davit/base';
import { causes, DriverError } from '@davit/drivers';
import type { FailureRecord } from '../model.ts';

/** Converts an error to the record that users see. Unknown errors are reported as internal, without details. */
export function toFailure(error: unknown, reference: string): FailureRecord {
  if (error instanceof DriverError) {
    return { code: error.code, message: error.message, hint: error.hint, evidence: error.evidence };
  }
  if (isAppError(error)) return { code: error.code, message: error.message, hint: '', evidence: {} };
  return {
    code: 'INTERNAL',
    message: `Davit failed unexpectedly (${reference}).`,
    hint: causes.INTERNAL,
    evidence: {},
  };
}
