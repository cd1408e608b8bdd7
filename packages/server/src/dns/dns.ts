import { Resolver } from 'node:dns/promises';
import type { Settings } from '../configuration.ts';

/** The DNS records of a name: its addresses, and the names in its chain of CNAME records. */
export interface DnsAnswer {
  readonly addresses: readonly string[];
  readonly names: readonly string[];
}

export interface Dns {
  /** Resolves a name; null if there is no such name. Fails with the servers' error if they cannot resolve it. */
  ask(name: string): Promise<DnsAnswer | null>;
  /** Returns the TXT records of a name, or of the name that it is an alias of. Fails like `ask`. */
  texts(name: string): Promise<readonly string[]>;
}

/** RFC 6761, 6.3: these names always stand for this machine, whatever DNS contains. */
const loopback: DnsAnswer = { addresses: ['127.0.0.1', '::1'], names: [] };
const maxNames = 8;

/**
 * Creates a client that queries the servers of `DAVIT_DNS_SERVERS`, or those of this machine; never the hosts file. A
 * query may take some seconds.
 */
export function createDns({ dnsServers }: Settings<'dnsServers'>): Dns {
  return {
    async ask(name) {
      if (name === 'localhost' || name.endsWith('.localhost')) return loopback;
      const resolver = newResolver(dnsServers);
      const [v4, v6, names] = await Promise.all([
        known(resolver.resolve4(name)),
        known(resolver.resolve6(name)),
        namesBehind(resolver, name),
      ]);
      const addresses = [...v4, ...v6];
      return addresses.length === 0 && names.length === 0 ? null : { addresses, names };
    },
    async texts(name) {
      const records = await known(newResolver(dnsServers).resolveTxt(name));
      return records.map((parts) => parts.join(''));
    },
  };
}

function newResolver(servers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: 1500, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return resolver;
}

/** Returns the targets of a chain of CNAME records. In a cycle, each name is returned once. */
async function namesBehind(resolver: Resolver, name: string): Promise<string[]> {
  const names: string[] = [];
  for (let at = name; names.length < maxNames;) {
    const [next] = await known(resolver.resolveCname(at));
    const plain = next?.toLowerCase().replace(/\.$/, '');
    if (plain === undefined || plain === '' || names.includes(plain)) break;
    names.push(plain);
    at = plain;
  }
  return names;
}

/** Returns an empty list if there is no such name or record; any other error is thrown. */
async function known<Record>(answer: Promise<Record[]>): Promise<Record[]> {
  try {
    return await answer;
  } catch (error) {
    const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
    throw error;
  }
}
