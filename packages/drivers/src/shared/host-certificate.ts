import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';

/** Tables name the same certificates again and again, and looking at one takes a part of a millisecond. */
const known = new Map<string, boolean>();
const mostKnown = 10_000;

/** Whether a text in PEM is a private key and, first of its certificates, the one that belongs to it. */
export function isUsableCertificate(pem: string): boolean {
  const hash = createHash('sha256').update(pem).digest('base64');
  const former = known.get(hash);
  if (former !== undefined) return former;
  if (known.size >= mostKnown) known.clear();
  const usable = isPair(pem);
  known.set(hash, usable);
  return usable;
}

function isPair(pem: string): boolean {
  // An empty line would end the text where HAProxy is told it while it runs.
  if (!/^[\x20-\x7e\n]+$/.test(pem) || pem.trimEnd().includes('\n\n')) return false;
  try {
    return new X509Certificate(pem).checkPrivateKey(createPrivateKey(pem));
  } catch {
    // Not PEM, or not of that kind.
    return false;
  }
}
