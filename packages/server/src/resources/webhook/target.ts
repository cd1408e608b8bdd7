import { BlockList, isIP } from 'node:net';

/*
 * Addresses that a webhook may call. Davit runs in networks with private services that its users must not reach through
 * Davit.
 */

const privateAddresses = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  privateAddresses.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 128],
  ['::1', 128],
  // Prefixes of addresses that a translating network, such as NAT64, would send to an IPv4 address.
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  privateAddresses.addSubnet(network, prefix, 'ipv6');
}

/**
 * Returns whether an address belongs to this machine or to a private network. An IPv4 address mapped to IPv6 counts as
 * the IPv4 address.
 */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  return family === 0 || privateAddresses.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

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
