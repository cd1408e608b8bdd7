import type { StreamControlData } from '@davit/contract';

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
