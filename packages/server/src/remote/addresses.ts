import { BlockList, isIPv6 } from 'node:net';

const reserved = new BlockList();
// IANA's special-purpose registries for IPv4 and IPv6: what is not on the public internet, and what embeds such an address.
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

/** Whether an IP address is private, loopback, link-local or otherwise not one of the public internet. */
export function isPrivateAddress(address: string): boolean {
  // A BlockList looks through IPv4 addresses that are mapped into IPv6 by itself.
  return reserved.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
