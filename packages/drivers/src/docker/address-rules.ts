import { createHash } from 'node:crypto';

/*
 * The rules of nftables by which a holder translates the address of its service, and the choice of that address. All
 * functions are pure.
 */

/** Returns the rules that translate the address of a holder to these addresses, in turn. */
export function rulesFor(addresses: readonly string[]): string {
  const sorted = [...new Set(addresses)].toSorted();
  const to =
    sorted.length === 1
      ? sorted[0]
      : `numgen inc mod ${sorted.length} map { ${sorted.map((one, index) => `${index} : ${one}`).join(', ')} }`;
  return [
    'add table ip davit',
    'add chain ip davit in { type nat hook prerouting priority -100 ; }',
    'add chain ip davit out { type nat hook postrouting priority 100 ; }',
    'add chain ip davit own { type filter hook output priority 0 ; }',
    'flush table ip davit',
    ...(sorted.length === 0
      ? []
      : [`add rule ip davit in fib daddr type local dnat to ${to}`, 'add rule ip davit out ct status dnat masquerade']),
    // Otherwise the kernel redirects senders to the instance, past the holder.
    'add rule ip davit own icmp type redirect drop',
  ].join('\n');
}

/** Returns up to `count` unused addresses of a range, best first. */
export function addressesIn(range: string, service: string, used: ReadonlySet<string | undefined>, count: number): string[] {
  const [base = '', bits = '32'] = range.split('/');
  // The last address of the range may be the broadcast address of the network.
  const size = 2 ** (32 - Number(bits)) - 1;
  const first = createHash('sha256').update(service).digest().readUInt32BE(0) % size;
  const found: string[] = [];
  for (let step = 0; step < size && found.length < count; step += 1) {
    const address = toAddress(toNumber(base) + ((first + step) % size));
    if (!used.has(address)) found.push(address);
  }
  return found;
}

/** Returns the two halves of a subnet: for addresses that the engine gives out, and for those of services. */
export function halvesOf(subnet: string): { readonly instances: string; readonly services: string } {
  const [base = '', bits = '0'] = subnet.split('/');
  const half = Number(bits) + 1;
  return { instances: `${base}/${half}`, services: `${toAddress(toNumber(base) + 2 ** (32 - half))}/${half}` };
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toAddress(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

/** Returns a locally administered MAC address, as Docker forms it. */
export function macOf(address: string): string {
  return ['02', '42', ...address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))].join(':');
}
