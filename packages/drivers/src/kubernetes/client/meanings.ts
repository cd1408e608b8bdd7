import type { Cause } from '../../errors.ts';

interface Meaning {
  readonly pattern: RegExp;
  readonly cause: Cause;
  readonly retryable?: true;
}

/**
 * Causes for messages of an API server, or of the controllers that report its refusals in events. The first match wins.
 */
const meanings: readonly Meaning[] = [
  { pattern: /because it is being terminated|object is being deleted/i, cause: 'ENGINE_FAILED', retryable: true },
  // The default service account of a namespace is created a moment after the namespace.
  { pattern: /error looking up service account [^\s/]+\/default:.* not found/i, cause: 'ENGINE_FAILED', retryable: true },
  {
    pattern: /exceeded quota|failed quota|insufficient quota|maximum (?:cpu|memory) usage|minimum (?:cpu|memory) usage/i,
    cause: 'QUOTA_EXCEEDED',
  },
  {
    pattern:
      /violates PodSecurity|admission webhook|denied the request|ValidatingAdmissionPolicy|unable to validate against any security context/i,
    cause: 'ADMISSION_REFUSED',
  },
  // The webhook is unreachable; it has refused nothing.
  { pattern: /failed calling webhook|failed to call webhook/i, cause: 'ENGINE_FAILED', retryable: true },
];

/** Returns the cause that the message of a refusal stands for, or null if the message is unknown. Pure. */
export function meaningOf(words: string): Pick<Meaning, 'cause' | 'retryable'> | null {
  return meanings.find(({ pattern }) => pattern.test(words)) ?? null;
}
