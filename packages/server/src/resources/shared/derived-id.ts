import { createHash } from 'node:crypto';

/**
 * Returns a UUID (version 8, RFC 9562) that depends only on the parts. Used for records that are computed and have no
 * row.
 */
export function derivedId(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  // The length before each part distinguishes ('ab', 'c') from ('a', 'bc').
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`);
  const bytes = hash.digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
