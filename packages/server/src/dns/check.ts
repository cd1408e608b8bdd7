import { messageOf } from '@davit/base';
import type { operations, Response } from '@davit/contract';
import type { Dns, DnsAnswer } from './dns.ts';

type Checked = Response<(typeof operations)['checkApplicationCustomDomain']>['results'][number];

export interface DomainCheck {
  readonly status: Checked['status'];
  /** The records found and the correct ones; null if nothing has to be done. */
  readonly details: string | null;
}

export interface CheckedDomain {
  readonly host: string;
  readonly use_cdn: boolean;
}

export function isRight({ status }: DomainCheck): boolean {
  return status === 'RESOLVES_TO_IP' || status === 'MATCHES_LOAD_BALANCER_HOST';
}

/** Checks whether DNS directs a domain to this installation. `validationDomain`: the required target. Never fails. */
export async function checkDomain(dns: Dns, domain: CheckedDomain, validationDomain: string): Promise<DomainCheck> {
  let answer: DnsAnswer | null;
  try {
    answer = await dns.ask(domain.host);
    if (answer === null) {
      return {
        status: 'DOMAIN_NOT_CONFIGURED',
        details: `DNS has no record for ${domain.host}: add a CNAME record to ${validationDomain}.`,
      };
    }
    if (domain.use_cdn) return behindCdn(domain, answer);
    return compared(domain, answer, { validationDomain, wanted: await dns.ask(validationDomain) });
  } catch (error) {
    const words = messageOf(error);
    return { status: 'GENERIC_FAILURE', details: `DNS could not be queried: ${words}.` };
  }
}

function behindCdn({ host }: CheckedDomain, { addresses, names }: DnsAnswer): DomainCheck {
  if (addresses.length > 0) return { status: 'RESOLVES_TO_IP', details: null };
  const details = `${host} leads to ${names.join(', ')}, which has no address.`;
  return { status: 'DOMAIN_NOT_CONFIGURED', details };
}

function compared(
  { host }: CheckedDomain,
  { addresses, names }: DnsAnswer,
  { validationDomain, wanted }: { readonly validationDomain: string; readonly wanted: DnsAnswer | null },
): DomainCheck {
  if (names.includes(validationDomain)) return { status: 'MATCHES_LOAD_BALANCER_HOST', details: null };
  if (wanted === null || wanted.addresses.length === 0) {
    return {
      status: 'GENERIC_FAILURE',
      details: `${validationDomain} has no DNS record itself, so the domain cannot be compared with it: the domain of the gateway needs a wildcard record (DAVIT_GATEWAY_DOMAIN).`,
    };
  }
  if (addresses.some((address) => wanted.addresses.includes(address))) {
    return { status: 'MATCHES_LOAD_BALANCER_HOST', details: null };
  }
  const found = [...names, ...addresses].join(', ');
  return {
    status: 'DOMAIN_LINKED_TO_WRONG_HOST',
    details: `${host} leads to ${found}, not to ${validationDomain} (${wanted.addresses.join(', ')}): change its record to a CNAME of ${validationDomain}.`,
  };
}
