import { messageOf } from '@davit/base';
import { isUniqueViolation } from '@davit/db';
import type { Needs } from '../../deps.ts';
import type { EndpointSettings } from '../shared/public-endpoint.ts';
import { createDns } from '../../dns/dns.ts';
import { validationDomain } from '../service/index.ts';
import * as store from './store.ts';

/*
 * Ownership of domains. Any organization can claim a domain. The domain belongs to the first organization that DNS
 * names, by one of two records:
 * - a CNAME record to the service's own name
 * - a TXT record with the organization's id
 *
 * An address record proves nothing, because all services have the address of the gateway. A proof is valid until the
 * domain is deleted.
 */

export interface Ownership {
  readonly status: 'PROVEN' | 'UNPROVEN' | 'TAKEN';
  /** The action that the user has to take. Null: none. */
  readonly details: string | null;
}

type Claim = Pick<store.ClaimRow, 'id' | 'host' | 'domain' | 'service_id' | 'organization_id' | 'type' | 'driver' | 'proven_at'>;

const proven: Ownership = { status: 'PROVEN', details: null };

/** Returns the name and the text of the TXT record that proves that a host belongs to an organization. */
export function proofRecord(host: string, organizationId: string): { readonly name: string; readonly text: string } {
  return { name: `_davit.${host.replace(/^\*\./, '')}`, text: `davit-organization=${organizationId}` };
}

/**
 * Checks for the proof in DNS and stores it if it is found. Any number of processes may do so at once. DNS errors do
 * not make this function fail.
 */
export async function ownershipOf(
  deps: Needs<'database', keyof EndpointSettings | 'dnsServers' | 'proveDomains'>,
  claim: Claim,
): Promise<Ownership> {
  if (claim.proven_at !== null) return proven;
  const lead = validationDomain(deps.config, { ...claim, id: claim.service_id });
  const { name, text } = proofRecord(claim.host, claim.organization_id);
  if (deps.config.proveDomains) {
    const seen = await look(deps, { host: claim.host, lead, name, text });
    if (seen !== null) return { status: 'UNPROVEN', details: seen };
  }
  return note(deps, claim);
}

/** Returns null if there is a proof, otherwise what is missing. */
async function look(
  { config }: Needs<never, 'dnsServers'>,
  { host, lead, name, text }: { readonly host: string; readonly lead: string; readonly name: string; readonly text: string },
): Promise<string | null> {
  const dns = createDns(config);
  const todo = `Nothing answers at ${host} until it is proven to be yours: create a CNAME record of ${host} to ${lead}, or a TXT record of ${name} with the text ${text}; then deploy.`;
  try {
    if ((await dns.ask(host))?.names.includes(lead) === true) return null;
    return (await dns.texts(name)).includes(text) ? null : todo;
  } catch (error) {
    return `${todo} DNS could not be queried just now: ${messageOf(error)}.`;
  }
}

async function note({ database }: Needs<'database'>, { id, host, service_id, organization_id }: Claim): Promise<Ownership> {
  const taken = (words: string): Ownership => ({ status: 'TAKEN', details: `${host} ${words}.` });
  try {
    return await database.transaction(async (tx) => {
      if ((await tx.maybe(store.servedElsewhere, [host, service_id])) !== undefined) {
        return taken('is still answered by another service, until that service is deployed again or stopped');
      }
      const wildcard = host.replace(/^[^.]+/, '*');
      if (!host.startsWith('*') && (await tx.maybe(store.wildcardElsewhere, [wildcard, organization_id])) !== undefined) {
        return taken(`is covered by ${wildcard}, which belongs to another organization`);
      }
      // This changes nothing if the domain was edited or deleted in the meantime.
      await tx.run(store.proveDomain, [id, host]);
      return proven;
    });
  } catch (error) {
    if (!isUniqueViolation(error, 'custom_domain_host')) throw error;
    return taken('was already proven by another organization, which must delete it first');
  }
}
