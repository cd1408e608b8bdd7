import { X509Certificate } from 'node:crypto';
import type { operations, Response } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import { isLocalDriver } from '../../local-driver.ts';
import { notFound } from '../shared/problems.ts';
import * as store from './store.ts';

type Status = Response<(typeof operations)['getCustomDomainStatus']>;
export type CertificateStatus = Pick<
  Status,
  'certificate_status' | 'certificate_details' | 'certificate_valid_until' | 'certificate_next_attempt'
>;
type AuthorityRecord = Response<(typeof operations)['getCertificateAuthority']>;

interface Domain {
  readonly host: string;
  readonly generate_certificate: boolean;
  /** Driver of the cluster that serves the domain. */
  readonly driver: string;
}

interface DomainFacts {
  /** Whether the domain is proven to belong to the organization. Only a proven domain may have a certificate. */
  readonly isProven: boolean;
  /** Whether the gateway serves the domain. It presents a certificate only if it does. */
  readonly isAnswered: boolean;
}

/** Returns the status of a domain's certificate, and what the user has to do. */
export async function certificateStatus(
  { database, config }: Needs<'database', 'acme' | 'gatewayHttpsPort'>,
  domain: Domain,
  { isProven, isAnswered }: DomainFacts,
): Promise<CertificateStatus> {
  const none = (certificate_status: CertificateStatus['certificate_status'], certificate_details: string): CertificateStatus => ({
    certificate_status,
    certificate_details,
    certificate_valid_until: null,
    certificate_next_attempt: null,
  });
  if (!domain.generate_certificate) {
    return none('NOT_SERVED', 'None is requested: whoever serves HTTPS for the domain provides the certificate.');
  }
  if (!isLocalDriver(domain.driver)) {
    return none(
      'NOT_SERVED',
      'Requests reach the cluster of the service through its own ingress controller, which provides the certificate.',
    );
  }
  if (config.gatewayHttpsPort === null) {
    return none('NOT_SERVED', 'HTTPS is off in this installation: the operator enables it with DAVIT_GATEWAY_HTTPS_PORT.');
  }
  if (config.acme !== null && domain.host.startsWith('*.')) {
    return none(
      'NOT_SERVED',
      'A wildcard domain cannot have one: the authority verifies domains over HTTP, which is impossible for a wildcard. Add the domains below it one by one, or have a proxy in front provide the certificate.',
    );
  }
  if (!isProven) return none('WAITING', 'It is issued once the domain is proven to be yours; see ownership_details.');
  const row = await database.maybe(store.readCertificate, [domain.host]);
  return row === undefined ? none('WAITING', 'It is issued within a minute.') : toStatus(row, isAnswered);
}

function toStatus(row: store.CertificateRow, isAnswered: boolean): CertificateStatus {
  const { failure, is_served, not_after, due_at } = row;
  const facts = { certificate_valid_until: not_after, certificate_next_attempt: failure === null ? null : due_at };
  const why = failure === null ? '' : `${failure.message} The next attempt is at ${due_at}.`;
  if (!is_served) {
    if (failure === null) return { certificate_status: 'ISSUING', certificate_details: 'It is being issued.', ...facts };
    const certificate_status = failure.source === 'DNS' ? 'WAITING' : 'FAILED';
    return { certificate_status, certificate_details: why, ...facts };
  }
  const isOver = not_after !== null && Date.parse(not_after) <= Date.now();
  if (failure === null && !isOver && !isAnswered) {
    const certificate_details =
      'It is issued, and is served once the service answers at the domain: deploy the service, or start it if it is stopped.';
    return { certificate_status: 'WAITING', certificate_details, ...facts };
  }
  if (failure === null && !isOver) {
    const details = `It is served, issued by ${row.directory === '' ? 'the authority of this installation' : String(row.directory)}, and renewed automatically after ${due_at}.`;
    return { certificate_status: 'SERVED', certificate_details: details, ...facts };
  }
  const certificate_status = isOver ? 'EXPIRED' : 'RENEWAL_FAILING';
  const former = isOver ? `It expired at ${not_after}.` : `It is served until ${not_after}.`;
  return { certificate_status, certificate_details: `${former} ${why}`.trim(), ...facts };
}

/**
 * Returns the installation's own authority. Fails with NOT_FOUND if there is none, because HTTPS is off or a public
 * authority issues the certificates.
 */
export async function readCertificateAuthority({
  database,
  config,
}: Needs<'database', 'acme' | 'gatewayHttpsPort'>): Promise<AuthorityRecord> {
  const isOwn = config.gatewayHttpsPort !== null && config.acme === null;
  const row = isOwn ? await database.maybe(store.readAuthority, ['']) : undefined;
  if (typeof row?.certificate !== 'string') throw notFound('certificate authority of the installation');
  const { subject, fingerprint256, validToDate } = new X509Certificate(row.certificate);
  return {
    certificate: `${row.certificate.trim()}\n`,
    name: /CN=(.*)/.exec(subject)?.[1] ?? subject,
    sha256_fingerprint: fingerprint256,
    valid_until: validToDate.toISOString(),
  };
}
