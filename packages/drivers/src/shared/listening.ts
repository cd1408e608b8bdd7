/** An address on which a process listens for TCP connections. */
export interface Listener {
  readonly address: string;
  readonly port: number;
}

const listenState = '0A';

/**
 * Parses the listeners in the text of `/proc/<pid>/net/tcp` or `tcp6` (proc(5)): hexadecimal, 32-bit words in the
 * machine's byte order. Pure.
 */
export function parseListeners(text: string): Listener[] {
  return text.split('\n').flatMap((line): Listener[] => {
    const [, local, , state] = line.trim().split(/\s+/);
    const [, address, port] = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/i.exec(local ?? '') ?? [];
    if (address === undefined || port === undefined || state !== listenState) return [];
    return [{ address: toAddress(address), port: Number.parseInt(port, 16) }];
  });
}

/** Returns whether others than the instance itself can connect. */
export function isReachable(listener: Listener): boolean {
  return !listener.address.startsWith('127.') && listener.address !== '::1';
}

/** Formats a listener as `address:port`. */
export function formatListener({ address, port }: Listener): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function toAddress(hexadecimal: string): string {
  const words = hexadecimal.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => (word.match(/../g) ?? []).toReversed().map((byte) => Number.parseInt(byte, 16)));
  if (bytes.length === 4) return bytes.join('.');
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (isMapped) return bytes.slice(12).join('.');
  const groups = Array.from({ length: 8 }, (_, index) =>
    (((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0)).toString(16),
  );
  return shortest(groups);
}

// Replaces the longest run of zeros by `::` (RFC 5952).
function shortest(groups: readonly string[]): string {
  const runs = [...groups.join(':').matchAll(/\b0(?::0)+\b/g)].map(([run]) => run);
  const longest = runs.toSorted((a, b) => b.length - a.length)[0];
  if (longest === undefined) return groups.join(':');
  const [before, after] = groups.join(':').split(longest, 2);
  return `${(before ?? '').replace(/:$/, '')}::${(after ?? '').replace(/^:/, '')}`;
}
