import { DriverError, type Cause } from '../errors.ts';
import { withoutReferences } from './image-words.ts';

interface KnownWords {
  readonly pattern: RegExp;
  readonly cause: Cause;
  readonly hint?: string;
  /** True if waiting does not help: somebody has to change a setting or a certificate. */
  readonly lasts?: boolean;
}

const untrusted =
  'The container engine does not trust the registry’s certificate. Renew it or correct its name, or have the operator make the engine trust its certificate authority (for Docker in /etc/docker/certs.d).';

// Messages of Docker Engine 20.10 to 29, of Podman 4 and 5, and of registries that they repeat.
const causes: readonly KnownWords[] = [
  { pattern: /no space left on device|disk quota exceeded/i, cause: 'DISK_FULL' },
  {
    pattern: /no matching manifest for|does not match the specified platform|no image found in (image index|manifest list)/i,
    cause: 'IMAGE_NOT_FOUND',
    hint: 'The image has no variant for this machine’s processor. Choose a tag that has one, or build it for this processor too.',
  },
  {
    pattern: /toomanyrequests|too many requests|rate limit|(?<![\w.:/-])429(?![\w.])/i,
    cause: 'REGISTRY_UNREACHABLE',
    hint: 'The rate limit of the registry was reached. Wait, or use a container registry with username and password, which has a higher limit; deploying again is safe.',
  },
  {
    pattern: /server gave HTTP response to HTTPS client|first record does not look like a TLS handshake/i,
    cause: 'REGISTRY_UNREACHABLE',
    hint: 'The registry uses plain http, which the container engine accepts on this machine only. Give the registry a certificate, or have the operator add it to the engine’s insecure registries.',
    lasts: true,
  },
  { pattern: /x509|certificate/i, cause: 'REGISTRY_UNREACHABLE', hint: untrusted, lasts: true },
  { pattern: /tls:/i, cause: 'REGISTRY_UNREACHABLE', hint: untrusted },
  {
    pattern: /manifest (?:for .* )?(?:not found|unknown)/i,
    cause: 'IMAGE_NOT_FOUND',
    hint: 'The registry has the image under other tags, or not at all. Check tag and image_name, and the registry’s username and password where it is private.',
  },
  { pattern: /name unknown|repository .* not found|does not exist|not found: /i, cause: 'IMAGE_NOT_FOUND' },
  {
    pattern: /incorrect username|invalid (?:username|credential)|wrong (?:username|password)/i,
    cause: 'REGISTRY_ACCESS_DENIED',
    hint: 'Username or password of the container registry is wrong. Correct them in its config, then deploy again.',
  },
  {
    pattern: /no basic auth|authentication required|unauthorized/i,
    cause: 'REGISTRY_ACCESS_DENIED',
    hint: 'The registry requires credentials. Check that the container registry has username and password, that they are right, and that they may read this image.',
  },
  { pattern: /access (?:to the resource is |was )?denied|denied|forbidden/i, cause: 'REGISTRY_ACCESS_DENIED' },
  {
    pattern:
      /no such host|failed to do request|i\/o timeout|timeout|connection (?:refused|reset)|handshake|network is unreachable|lookup |(?<![\w.:/-])50[0234](?!\w)|\bEOF\b/i,
    cause: 'REGISTRY_UNREACHABLE',
  },
  {
    // Error codes DIGEST_INVALID, SIZE_INVALID, BLOB_UNKNOWN and BLOB_UPLOAD_* of the distribution specification.
    pattern:
      /provided (?:digest|length) did not match|digest did not match|blob (?:upload )?(?:unknown|invalid)|upload (?:unknown|invalid)|size invalid/i,
    cause: 'REGISTRY_UNREACHABLE',
    hint: 'A part of the image arrived damaged at the registry. Deploying again is safe; if it fails again, check the storage of the registry and the proxies in front of it.',
  },
  { pattern: /invalid reference format/i, cause: 'IMAGE_NOT_FOUND' },
];

/** Returns an engine's message about an image, without trailing punctuation, and its known meaning. Pure. */
export function knownWords(words: string, reference: string): { readonly text: string; readonly known: KnownWords | undefined } {
  const text = words.trim().replace(/\.$/, '');
  // A digest may contain 429.
  const output = withoutReferences(text, [reference]).replace(/sha256:[0-9a-f]+|\b[0-9a-f]{12,}\b/gi, ' ');
  return { text, known: causes.find(({ pattern }) => pattern.test(output)) };
}

/** Returns whether a retry may succeed. Pure. */
export function mayPass(known: KnownWords | undefined): boolean {
  return known?.cause === 'REGISTRY_UNREACHABLE' && known.lasts !== true;
}

/** Returns why an image could not be pushed to its registry, based on the engine's message. Pure. */
export function pushFailure(reference: string, words: string): DriverError {
  const { text, known } = knownWords(words, reference);
  const cause: Cause =
    known === undefined ? 'ENGINE_FAILED' : known.cause === 'IMAGE_NOT_FOUND' ? 'REGISTRY_ACCESS_DENIED' : known.cause;
  const hint = cause === 'REGISTRY_ACCESS_DENIED' ? mayWrite : known?.hint;
  return new DriverError({
    cause,
    message: `The image ${reference} could not be pushed: ${text}.`,
    ...(hint !== undefined && { hint }),
    evidence: { original: text },
    retryable: mayPass(known),
  });
}

const mayWrite =
  'Davit pushes the images that it builds for the cluster to this registry. Check that the container registry has username and password, that they may push, and that the registry creates image names on push or already has this one.';
