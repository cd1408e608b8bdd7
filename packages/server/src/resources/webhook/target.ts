import { isIP } from 'node:net';
import { isPrivateAddress } from '@davit/base-node';

/*
 * Addresses that a webhook may call. Davit runs in networks with private services that its users must not reach through
 * Davit.
 */

/**
 * Returns the error in a target URL, as the message of a field, or undefined if there is none. The addresses of a host
 * name are checked at delivery.
 */
export function targetProblem(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || !/^https?:\/\//i.test(text)) {
    return 'must be a URL that begins with http:// or https://';
  }
  if (url.username !== '' || url.password !== '') return 'must not hold a user or password; use target_secret';
  if (allowPrivate) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const isPrivate = isIP(host) === 0 ? host === 'localhost' || host.endsWith('.localhost') : isPrivateAddress(host);
  return isPrivate
    ? 'is an address of this machine or of a private network; the operator can allow these with DAVIT_ALLOW_PRIVATE_TARGETS=true'
    : undefined;
}
