import { BlockList, isIP, isIPv6 } from 'node:net';

const reserved = new BlockList();
// IANA's special-purpose registries for IPv4 and IPv6: networks that are not on the public internet, and IPv6 networks
// that embed such an address.
for (const network of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]) {
  addNetwork(network, 'ipv4');
}
for (const network of [
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/9',
  'ff00::/8',
]) {
  addNetwork(network, 'ipv6');
}

function addNetwork(network: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', bits = ''] = network.split('/');
  reserved.addSubnet(address, Number(bits), family);
}

/**
 * Returns whether an IP address is private, loopback, link-local or otherwise not on the public internet. True for
 * texts that are no IP address.
 */
export function isPrivateAddress(address: string): boolean {
  // A BlockList itself handles IPv4 addresses that are mapped into IPv6.
  return isIP(address) === 0 || reserved.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Returns whether a text is a host name, an address, or a network such as `10.0.0.0/8`. */
export function isHostOrNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (rest.length > 0) return false;
  const version = isIP(address);
  if (bits !== undefined) return version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
  return version !== 0 || /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/.test(address);
}

/** Returns whether an address may be accessed under the name `host` (or under the address itself). */
export type MayReach = (address: string, host: string) => boolean;

/**
 * Returns a check that allows all public addresses and those in `allowed`: private addresses, networks and host names,
 * see `isHostOrNetwork`.
 */
export function reachable(allowed: boolean | readonly string[]): MayReach {
  if (allowed === true) return () => true;
  const list = allowed === false ? [] : allowed;
  const networks = new BlockList();
  const hosts = new Set<string>();
  for (const entry of list) {
    const [address = '', bits] = entry.split('/');
    const version = isIP(address);
    if (version === 0) hosts.add(entry);
    else networks.addSubnet(address, Number(bits ?? (version === 4 ? 32 : 128)), version === 4 ? 'ipv4' : 'ipv6');
  }
  return (address, host) =>
    !isPrivateAddress(address) || hosts.has(host.toLowerCase()) || networks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
