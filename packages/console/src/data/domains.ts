import type { CallAnswer } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Service } from '../words.ts';

export type Domain = CallAnswer<'getCustomDomainStatus'>;

export interface DomainRequest {
  readonly domain: string;
  readonly generate_certificate: boolean;
  readonly use_cdn: boolean;
}

/** The version that an edit names; the server refuses the edit if somebody else changed the domain since. */
interface Version {
  readonly ifUpdatedAt?: string;
}

interface Calls {
  readonly list: (id: string, signal: AbortSignal) => Promise<{ readonly results: readonly { readonly id: string }[] }>;
  readonly read: (id: string, customDomainId: string, signal: AbortSignal) => Promise<Domain>;
  readonly create: (id: string, body: DomainRequest) => Promise<unknown>;
  readonly edit: (id: string, customDomainId: string, body: DomainRequest, version: Version) => Promise<unknown>;
  readonly remove: (id: string, customDomainId: string) => Promise<unknown>;
}

const calls: Partial<Record<Service['service_type'], Calls>> = {
  APPLICATION: {
    list: (applicationId, signal) => api().call('listApplicationCustomDomain', { params: { applicationId }, signal }),
    read: (applicationId, customDomainId, signal) =>
      api().call('getCustomDomainStatus', { params: { applicationId, customDomainId }, signal }),
    create: (applicationId, body) => api().call('createApplicationCustomDomain', { params: { applicationId }, body }),
    edit: (applicationId, customDomainId, body, version) =>
      api().call('editCustomDomain', { params: { applicationId, customDomainId }, body, ...version }),
    remove: (applicationId, customDomainId) => api().call('deleteCustomDomain', { params: { applicationId, customDomainId } }),
  },
  CONTAINER: {
    list: (containerId, signal) => api().call('listContainerCustomDomain', { params: { containerId }, signal }),
    read: (containerId, customDomainId, signal) =>
      api().call('getContainerCustomDomainStatus', { params: { containerId, customDomainId }, signal }),
    create: (containerId, body) => api().call('createContainerCustomDomain', { params: { containerId }, body }),
    edit: (containerId, customDomainId, body, version) =>
      api().call('editContainerCustomDomain', { params: { containerId, customDomainId }, body, ...version }),
    remove: (containerId, customDomainId) =>
      api().call('deleteContainerCustomDomain', { params: { containerId, customDomainId } }),
  },
  HELM: {
    list: (helmId, signal) => api().call('listHelmCustomDomain', { params: { helmId }, signal }),
    read: (helmId, customDomainId, signal) => api().call('getHelmCustomDomain', { params: { helmId, customDomainId }, signal }),
    create: (helmId, body) => api().call('createHelmCustomDomain', { params: { helmId }, body }),
    edit: (helmId, customDomainId, body, version) =>
      api().call('editHelmCustomDomain', { params: { helmId, customDomainId }, body, ...version }),
    remove: (helmId, customDomainId) => api().call('deleteHelmCustomDomain', { params: { helmId, customDomainId } }),
  },
};

export function hasDomains({ service_type: type }: Service): boolean {
  return calls[type] !== undefined;
}

const pending = new Set<Domain['certificate_status']>(['WAITING', 'ISSUING']);
/** Milliseconds after which a domain is read again whose owner may just have changed DNS. */
const again = 15_000;

/** The custom domains of a service with what DNS and the authority say of them now. */
export const domainsOf = ({ id, service_type: type, environment }: Service) =>
  queryOptions({
    queryKey: ['domains', environment.id, id],
    queryFn: async ({ signal }): Promise<readonly Domain[]> => {
      const call = calls[type];
      if (call === undefined) return [];
      const { results } = await call.list(id, signal);
      return Promise.all(results.map((domain) => call.read(id, domain.id, signal)));
    },
    // DNS and certificates have no events: they are looked at again only while something is expected of them.
    refetchInterval: ({ state: { data = [] } }) =>
      data.some(({ certificate_status: status, dns_status: dns }) => pending.has(status) || dns === 'DOMAIN_NOT_CONFIGURED')
        ? again
        : false,
  });

/** Adds a domain, or edits this one, if nobody else has changed it since it was read. */
export async function saveDomain(
  { id, service_type: type }: Service,
  domain: Pick<Domain, 'id' | 'updated_at'> | null,
  body: DomainRequest,
): Promise<void> {
  const version = domain?.updated_at === undefined ? {} : { ifUpdatedAt: domain.updated_at };
  await (domain === null ? calls[type]?.create(id, body) : calls[type]?.edit(id, domain.id, body, version));
}

export async function deleteDomain({ id, service_type: type }: Service, domainId: string): Promise<void> {
  await calls[type]?.remove(id, domainId);
}
