import type { Cause } from '../../errors.ts';

interface Meaning {
  readonly pattern: RegExp;
  readonly cause: Cause;
  readonly retryable?: true;
}

/** What the words of an API server, or of the controllers that tell of its refusals in events, mean. The first match counts. */
const meanings: readonly Meaning[] = [
  { pattern: /because it is being terminated|object is being deleted/i, cause: 'ENGINE_FAILED', retryable: true },
  // The account that each namespace gets comes a moment after it.
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
  // Who is to be asked is away: nobody has refused anything.
  { pattern: /failed calling webhook|failed to call webhook/i, cause: 'ENGINE_FAILED', retryable: true },
];

/** What the words of a refusal mean; null: nothing that is known. Pure. */
export function meaningOf(words: string): Pick<Meaning, 'cause' | 'retryable'> | null {
  return meanings.find(({ pattern }) => pattern.test(words)) ?? null;
}
