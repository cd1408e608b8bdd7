import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from './addresses.ts';

/** Thrown when a host is at an address that is not on the public internet. */
export class PrivateTarget extends Error {
  readonly host: string;
  readonly address: string;

  constructor(host: string, address: string) {
    super(`${host} is at the private address ${address}`);
    this.name = 'PrivateTarget';
    this.host = host;
    this.address = address;
  }
}

/**
 * Resolves a name like `dns.lookup`. Fails with `PrivateTarget` if any of its addresses is private: a name with
 * addresses of both kinds is a sign of an attack, and the name's owner chooses the order in which they are tried. The
 * socket connects to the addresses that were checked, so a name cannot change its address after the check.
 */
export const publicLookup: LookupFunction = (host, options, callback) => {
  dns.lookup(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '');
    const hidden = addresses.find(({ address }) => isPrivateAddress(address));
    if (hidden !== undefined) return callback(new PrivateTarget(host, hidden.address), '');
    if (options.all === true) return callback(null, addresses);
    const [first] = addresses;
    return callback(null, first?.address ?? '', first?.family);
  });
};
