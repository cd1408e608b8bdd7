import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { operations, Response } from '@davit/contract';
import { isUniqueViolation, type Queryable } from '@davit/db';
import { canSee, type Caller } from '../../auth/caller.ts';
import { clusterDomains } from '../../cluster-settings.ts';
import type { Needs } from '../../deps.ts';
import { certificateStatus } from '../certificate/index.ts';
import { hasPublicAddress, lockService, readVisibleFacts, validationDomain, type ServiceReference } from '../service/index.ts';
import { invalid, notFound } from '../shared/problems.ts';
import type { EndpointSettings } from '../shared/public-endpoint.ts';
import { checkDomain, isRight, type DomainCheck } from '../../dns/check.ts';
import { createDns } from '../../dns/dns.ts';
import { toDomainName, type DomainName } from './name.ts';
import { ownershipOf } from './proof.ts';
import * as store from './store.ts';

/*
 * Custom domains of services. Services of every type that is served under host names can have them. A change takes
 * effect with the next deployment. Certificates are issued automatically, independent of deployments.
 */

type Domains = Response<(typeof operations)['listApplicationCustomDomain']>;
type Domain = Domains['results'][number];
type DomainStatus = Response<(typeof operations)['getCustomDomainStatus']>;
type Checks = Response<(typeof operations)['checkApplicationCustomDomain']>;

export interface DomainRequest {
  readonly domain?: string;
  readonly generate_certificate?: boolean | null;
  readonly use_cdn?: boolean | null;
}

export async function listDomains(
  deps: Needs<'database', keyof EndpointSettings>,
  caller: Caller,
  reference: ServiceReference,
): Promise<Domains> {
  const facts = await readVisibleFacts(deps.database, caller, reference);
  const rows = await deps.database.many(store.listDomains, [reference.id]);
  return { results: rows.map((row) => toRecord(deps, facts, row)) };
}

/** Returns the domain with the current result of its DNS check. */
export async function readDomain(
  deps: Needs<'database' | 'engine', keyof EndpointSettings | 'acme' | 'dnsServers' | 'gatewayHttpsPort' | 'proveDomains'>,
  caller: Caller,
  reference: ServiceReference,
  domainId: string,
): Promise<DomainStatus> {
  const facts = await readVisibleFacts(deps.database, caller, reference);
  const row = await deps.database.maybe(store.readDomain, [domainId, reference.id]);
  if (row === undefined) throw notFound('custom domain');
  const claim = { ...row, organization_id: facts.organization_id, service_id: facts.id, type: facts.type, driver: facts.driver };
  const ownership = await ownershipOf(deps, claim);
  const { status, details } = await checked(deps, facts, row);
  return {
    ...toRecord(deps, facts, row),
    dns_status: status,
    dns_details: details,
    ownership_status: ownership.status,
    ownership_details: ownership.details,
    ...(await certificateStatus(
      deps,
      { ...row, driver: facts.driver },
      { isProven: ownership.status === 'PROVEN', isAnswered: await isAnswered(deps, facts.id, row.host) },
    )),
  };
}

/** Returns whether a release that serves the host is deployed and not stopped. */
async function isAnswered({ database, engine }: Needs<'database' | 'engine'>, serviceId: string, host: string): Promise<boolean> {
  const config = await engine.deployedConfig(database, serviceId);
  const isDeployed = config?.ports.some(({ public: isPublic, customHosts = [] }) => isPublic && customHosts.includes(host));
  if (isDeployed !== true) return false;
  const [view] = await engine.services(database, [serviceId]);
  return view?.runningStatus !== 'STOPPED';
}

/**
 * Returns the DNS check of all domains of a service. Where DNS is right, the result also shows whether the ownership is
 * proven.
 */
export async function checkDomains(
  deps: Needs<'database', keyof EndpointSettings | 'dnsServers' | 'proveDomains'>,
  caller: Caller,
  reference: ServiceReference,
): Promise<Checks> {
  const facts = await readVisibleFacts(deps.database, caller, reference);
  const rows = await deps.database.many(store.listDomains, [reference.id]);
  const results = await Promise.all(
    rows.map(async (row) => {
      const claim = {
        ...row,
        organization_id: facts.organization_id,
        service_id: facts.id,
        type: facts.type,
        driver: facts.driver,
      };
      const ownership = await ownershipOf(deps, claim);
      const { status, details } = await checked(deps, facts, row);
      return { domain_name: row.domain, status, error_details: details ?? ownership.details };
    }),
  );
  return { results };
}

/** Fails with VALIDATION_FAILED, DOMAIN_TAKEN or BEING_DELETED. */
export async function createDomain(
  deps: Needs<'database' | 'engine', keyof EndpointSettings | 'proveDomains' | 'publicUrl'>,
  caller: Caller,
  reference: ServiceReference,
  request: DomainRequest,
): Promise<Domain> {
  const name = nameOf(deps, request.domain ?? '');
  return refuseTaken(name, () =>
    deps.database.transaction(async (tx) => {
      const facts = await lockService(deps, tx, caller, { ...reference, purpose: 'add' });
      await refuseOthers(deps, tx, caller, { name, facts });
      const flags = [request.generate_certificate ?? true, request.use_cdn ?? false, !deps.config.proveDomains];
      const values = [randomUUID(), facts.organization_id, facts.id, name.domain, name.host, ...flags];
      return toRecord(deps, facts, await tx.one(store.createDomain, values));
    }),
  );
}

/** Edits a domain. Fields that the request omits stay. Fails like `createDomain`, and with NOT_FOUND. */
export async function editDomain(
  deps: Needs<'database' | 'engine', keyof EndpointSettings | 'proveDomains' | 'publicUrl'>,
  caller: Caller,
  { domainId, ...reference }: ServiceReference & { readonly domainId: string },
  request: DomainRequest,
): Promise<Domain> {
  const wanted = request.domain === undefined ? null : nameOf(deps, request.domain);
  return refuseTaken(wanted, () =>
    deps.database.transaction(async (tx) => {
      const facts = await lockService(deps, tx, caller, { ...reference, purpose: 'add' });
      const former = await tx.maybe(store.readDomain, [domainId, facts.id]);
      if (former === undefined) throw notFound('custom domain');
      if (wanted !== null && wanted.host !== former.host) await refuseOthers(deps, tx, caller, { name: wanted, facts });
      const { domain, host } = wanted ?? former;
      const requested = [request.generate_certificate ?? former.generate_certificate, request.use_cdn ?? former.use_cdn];
      const flags = [...requested, !deps.config.proveDomains];
      return toRecord(deps, facts, await tx.one(store.editDomain, [domainId, facts.id, domain, host, ...flags]));
    }),
  );
}

export async function deleteDomain(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { domainId, ...reference }: ServiceReference & { readonly domainId: string },
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await lockService(deps, tx, caller, { ...reference, purpose: 'add' });
    if ((await tx.run(store.deleteDomain, [domainId, reference.id])) === 0) throw notFound('custom domain');
  });
}

function nameOf({ config }: Needs<never, 'clusterSettings' | 'gatewayDomain' | 'publicUrl'>, text: string): DomainName {
  const ownHost = config.publicUrl === null ? null : new URL(config.publicUrl).hostname;
  const name = toDomainName(text, [config.gatewayDomain, ...clusterDomains(config.clusterSettings)], ownHost);
  if ('fault' in name) throw invalid('domain', name.fault);
  return name;
}

interface DomainClaim {
  readonly name: DomainName;
  readonly facts: { readonly id: string; readonly organization_id: string };
}

/**
 * Fails with DOMAIN_TAKEN if the domain already belongs to another service. If the configuration requires a proof, an
 * unproven domain belongs to nobody, and all other conflicts are checked once the domain is proven.
 */
async function refuseOthers(
  { config }: Needs<never, 'proveDomains'>,
  tx: Queryable,
  caller: Caller,
  { name, facts }: DomainClaim,
): Promise<void> {
  const owner = await tx.maybe(store.ownerOfHost, [name.host, facts.organization_id]);
  if (owner !== undefined) throw taken(name.domain, `belongs to ${nameFor(caller, owner)}; a domain has one service`);
  if (!config.proveDomains) await refuseServed(tx, caller, name, facts);
}

/**
 * Fails with DOMAIN_TAKEN while the running release of another service serves the domain: two services cannot serve it,
 * and the other one was first. Also fails for a name that another organization serves through a wildcard, because the
 * name would be taken out of that wildcard.
 */
async function refuseServed(
  tx: Queryable,
  caller: Caller,
  { domain, host }: DomainName,
  { id, organization_id }: { readonly id: string; readonly organization_id: string },
): Promise<void> {
  const other = await tx.maybe(store.servedElsewhere, [host, id]);
  if (other !== undefined) {
    throw taken(domain, `is still answered by ${nameFor(caller, other)}, until that service is deployed again or stopped`);
  }
  const wildcard = host.replace(/^[^.]+/, '*');
  const above = host.startsWith('*') ? undefined : await tx.maybe(store.wildcardElsewhere, [wildcard, organization_id]);
  if (above !== undefined) throw taken(domain, `is covered by ${wildcard}, which belongs to ${nameFor(caller, above)}`);
}

async function refuseTaken<Result>(name: DomainName | null, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    // Two requests wrote the same domain at the same moment.
    const isTaken = ['custom_domain_host', 'custom_domain_host_of_organization'].some((index) => isUniqueViolation(error, index));
    if (name === null || !isTaken) throw error;
    throw taken(name.domain, 'belongs to another service; a domain has one service');
  }
}

// The name of a service that the caller may not see would reveal too much.
function nameFor(caller: Caller, service: { readonly name: string; readonly organization_id: string }): string {
  return canSee(caller, service.organization_id) ? `the service ${JSON.stringify(service.name)}` : 'another service';
}

function taken(domain: string, message: string): AppError {
  return new AppError({
    code: 'DOMAIN_TAKEN',
    message: `The domain ${domain} ${message}.`,
    errors: [{ path: 'domain', message }],
  });
}

type Placed = Awaited<ReturnType<typeof readVisibleFacts>>;

async function checked(
  { config }: Needs<never, keyof EndpointSettings | 'dnsServers'>,
  facts: Placed,
  row: store.CustomDomainRow,
): Promise<DomainCheck> {
  const found = await checkDomain(createDns(config), row, validationDomain(config, facts));
  if (hasPublicAddress(facts) || !isRight(found)) return found;
  const details = 'DNS is right, but the service has no public HTTP or GRPC port: requests are answered 404.';
  return { status: found.status, details };
}

function toRecord({ config }: Needs<never, keyof EndpointSettings>, facts: Placed, row: store.CustomDomainRow): Domain {
  return {
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    domain: row.domain,
    generate_certificate: row.generate_certificate,
    use_cdn: row.use_cdn,
    validation_domain: validationDomain(config, facts),
    status: 'VALIDATION_PENDING',
  };
}
