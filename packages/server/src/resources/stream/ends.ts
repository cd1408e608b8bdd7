import { isAppError } from '@davit/base';
import type { StreamControlData } from '@davit/contract';

/* Reasons for which a stream ends or starts over, in the words that its client gets. */

/** The last event of a stream. */
export type End = StreamControlData['END'];

export const stopping: End = {
  code: 'SERVER_STOPPING',
  message: 'This server is stopping. Reconnect with the last id.',
  resume: true,
};
export const tooSlow: End = {
  code: 'TOO_SLOW',
  message: 'The client read nothing for too long. Reconnect with the last id, and request fewer events.',
  resume: true,
};
export const done: End = { code: 'DONE', message: 'The deployment has ended; no more events follow.', resume: false };

export const failedInside: End = {
  code: 'INTERNAL',
  message: 'Davit itself failed; the log of the server has the details.',
  resume: true,
};

const revoked: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'TOKEN_EXPIRED', 'FORBIDDEN', 'NOT_FOUND']);

/** Returns the end of a stream whose caller has lost the right to it; null if the error is another one. */
export function revocationOf(error: unknown): End | null {
  if (!isAppError(error) || !revoked.has(error.code)) return null;
  return { code: error.code, message: error.message, resume: false };
}

export const resetMessage =
  'The events since the Last-Event-ID are no longer stored. Read the current state again; all events from here on follow.';
