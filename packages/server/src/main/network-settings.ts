import { isIP, isIPv6 } from 'node:net';
import { Sensitive } from '@davit/base';
import type { HostPort, TsigKey } from '../configuration.ts';

/**
 * Parses an IP address with a port, `address:port` or `[address]:port`. Returns null for anything else. Without
 * `defaultPort` the port is required.
 */
export function toHostPort(text: string, defaultPort: number | null): HostPort | null {
  if (isIP(text) !== 0) return defaultPort === null ? null : { host: text, port: defaultPort };
  const [, six, other = '', digits] = /^(?:\[(.*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = six ?? other;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (isIP(host) === 0 || (six !== undefined) !== isIPv6(host)) return null;
  return port === null || port < 1 || port > 65_535 ? null : { host, port };
}

/** Parses a key in the form of `nsupdate -y`, `algorithm:name:secret`. Returns null for anything else. */
export function toTsigKey(text: string): TsigKey | null {
  const [, algorithm, name = '', secret = ''] = /^(?:([^:]*):)?([^:]+):([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const known = (['hmac-sha256', 'hmac-sha384', 'hmac-sha512'] as const).find((one) => one === (algorithm ?? 'hmac-sha256'));
  const plain = name.toLowerCase().replace(/\.$/, '');
  if (known === undefined || !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(plain)) return null;
  return { name: plain, algorithm: known, secret: new Sensitive(secret) };
}
