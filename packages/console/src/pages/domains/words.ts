import type { Domain } from '../../data/domains.ts';
import type { Shape } from '../../words.ts';

type Words<Key extends string> = Readonly<Record<Key, readonly [Shape, string]>>;

export const dnsWords: Words<Domain['dns_status']> = {
  MATCHES_LOAD_BALANCER_HOST: ['ok', 'DNS leads here'],
  RESOLVES_TO_IP: ['ok', 'DNS has an address'],
  DOMAIN_NOT_CONFIGURED: ['warn', 'Not in DNS'],
  DOMAIN_LINKED_TO_WRONG_HOST: ['bad', 'DNS leads elsewhere'],
  GENERIC_FAILURE: ['warn', 'DNS gave no answer'],
};

export const ownershipWords: Words<Domain['ownership_status']> = {
  PROVEN: ['ok', 'Yours'],
  UNPROVEN: ['warn', 'Ownership not proven'],
  TAKEN: ['bad', 'Taken by another organization'],
};

export const certificateWords: Words<Domain['certificate_status']> = {
  NOT_SERVED: ['off', 'No certificate'],
  WAITING: ['wait', 'Certificate waits'],
  ISSUING: ['go', 'Certificate is issued'],
  FAILED: ['bad', 'Certificate failed'],
  SERVED: ['ok', 'Certificate served'],
  RENEWAL_FAILING: ['warn', 'Renewal fails'],
  EXPIRED: ['bad', 'Certificate expired'],
};

/** A record that the owner of a domain sets in DNS. */
export interface DnsRecord {
  readonly type: 'CNAME' | 'TXT';
  readonly name: string;
  readonly value: string;
}

/** Returns the records with which a domain leads here and, if that is asked for, proves its owner. */
export function recordsOf(
  { domain, validation_domain: target, ownership_status: owner }: Domain,
  organizationId: string,
): DnsRecord[] {
  const bare = domain.replace(/^\*\./, '');
  return [
    ...(target === undefined ? [] : [{ type: 'CNAME', name: domain, value: target } as const]),
    ...(owner === 'UNPROVEN'
      ? [{ type: 'TXT', name: `_davit.${bare}`, value: `davit-organization=${organizationId}` } as const]
      : []),
  ];
}
