import type { Needs } from '../../deps.ts';
import type { EndpointSettings } from '../shared/public-endpoint.ts';
import type { AnyCall } from '../../http/call.ts';
import type { Mounting } from '../../http/mount.ts';
import { mountRole, type ServiceReference } from '../service/index.ts';
import * as domain from './custom-domain.ts';

/** Mounts the routes for each kind of service that declares custom domains. */
export function mountCustomDomain(
  mounting: Mounting,
  deps: Needs<
    'database' | 'engine',
    keyof EndpointSettings | 'acme' | 'dnsServers' | 'gatewayHttpsPort' | 'proveDomains' | 'publicUrl'
  >,
): void {
  const one = ({ params }: AnyCall, service: ServiceReference) => ({ ...service, domainId: params['customDomainId'] ?? '' });
  mountRole(mounting, 'customDomains', ({ caller }, service) => domain.listDomains(deps, caller, service));
  mountRole(mounting, 'checkCustomDomains', ({ caller }, service) => domain.checkDomains(deps, caller, service));
  mountRole(mounting, 'createCustomDomain', ({ caller, body }, service) =>
    domain.createDomain(deps, caller, service, toRequest(body)),
  );
  mountRole(mounting, 'customDomain', (call, service) =>
    domain.readDomain(deps, call.caller, service, one(call, service).domainId),
  );
  mountRole(mounting, 'editCustomDomain', (call, service) =>
    domain.editDomain(deps, call.caller, one(call, service), toRequest(call.body)),
  );
  mountRole(mounting, 'deleteCustomDomain', (call, service) => domain.deleteDomain(deps, call.caller, one(call, service)));
}

// The body has already been validated against the contract.
function toRequest(body: unknown): domain.DomainRequest {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return body as domain.DomainRequest;
}
