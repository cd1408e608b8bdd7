import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

/** A domain in two forms: as users write it, and as DNS and requests have it. */
export interface DomainName {
  readonly domain: string;
  readonly host: string;
}

/**
 * Returns the normalized domain, or what is wrong with it. A domain is a host name of RFC 1123 with at least two
 * labels, also in other scripts (UTS #46), or `*.` followed by one. The star stands for exactly one label. Domains
 * below `ownDomains` are refused, because services get their default addresses there, and so is `ownHost`, at which
 * Davit itself answers.
 */
export function toDomainName(
  text: string,
  ownDomains: readonly string[],
  ownHost: string | null = null,
): DomainName | { readonly fault: string } {
  const domain = text.normalize('NFC').toLowerCase();
  const isWildcard = domain.startsWith('*.');
  const name = isWildcard ? domain.slice(2) : domain;
  if (/[\s/:@?#\\%]/.test(domain))
    return { fault: 'must be a domain only, as in shop.example.org, without scheme, port, path and blanks' };
  if (name.includes('*')) return { fault: 'may have * as its first label only, as in *.example.org' };
  if (isIP(name) !== 0 || name.startsWith('[')) return { fault: 'must be a domain, not an address' };
  if (name.endsWith('.') || name.startsWith('.') || name.includes('..')) {
    return { fault: 'must not have an empty label: no dot at either end, nor two in a row' };
  }
  const host = domainToASCII(name);
  const labels = host.split('.');
  if (host === '' || labels.some((label) => !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))) {
    return { fault: 'must have labels of 1 to 63 letters, digits and - inside, as in shop.example.org' };
  }
  if (labels.length < 2) return { fault: 'must have at least two labels, as in example.org' };
  if (/^\d+$/.test(labels.at(-1) ?? '')) return { fault: 'must not end in a number' };
  if (host.length + (isWildcard ? 2 : 0) > 253) return { fault: 'must have at most 253 characters in DNS' };
  const own = ownDomains.find((one) => host === one || host.endsWith(`.${one}`));
  if (own !== undefined) {
    return { fault: `must not be in ${own}, where services get their addresses automatically` };
  }
  if (host === ownHost && !isWildcard) return { fault: 'is the name of this Davit itself; choose another one' };
  return { domain, host: isWildcard ? `*.${host}` : host };
}
