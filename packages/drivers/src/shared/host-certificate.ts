import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';

/**
 * Cache of results. Tables contain the same certificates again and again, and each check takes a fraction of a
 * millisecond.
 */
const known = new Map<string, boolean>();
const maxKnown = 10_000;

/**
 * Returns whether a PEM text contains a private key and, as the first of its certificates, the certificate of that key.
 */
export function isUsableCertificate(pem: string): boolean {
  const hash = createHash('sha256').update(pem).digest('base64');
  const former = known.get(hash);
  if (former !== undefined) return former;
  if (known.size >= maxKnown) known.clear();
  const usable = isPair(pem);
  known.set(hash, usable);
  return usable;
}

function isPair(pem: string): boolean {
  // An empty line would end the text in a command to the running HAProxy.
  if (!/^[\x20-\x7e\n]+$/.test(pem) || pem.trimEnd().includes('\n\n')) return false;
  try {
    return new X509Certificate(pem).checkPrivateKey(createPrivateKey(pem));
  } catch {
    // The text is not PEM, or not of that kind.
    return false;
  }
}
