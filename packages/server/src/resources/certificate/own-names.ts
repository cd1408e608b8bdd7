import type { Settings } from '../../configuration.ts';
import { gatewayApi, type GatewayApiSettings } from '../../gateway-api.ts';

export type OwnNameSettings = GatewayApiSettings & Settings<'gatewayDomain' | 'addressCertificates'>;

/**
 * Returns the names of this installation that need certificates: the wildcard above the addresses of services, and the
 * host of the public URL unless that wildcard covers it.
 */
export function ownNames(config: OwnNameSettings): string[] {
  const { addressCertificates, gatewayDomain, localEngine, gatewayHttpsPort } = config;
  if (!localEngine || gatewayHttpsPort === null) return [];
  const names = addressCertificates === 'wildcard' ? [`*.${gatewayDomain}`] : [];
  const api = gatewayApi(config);
  if (api !== null && !names.includes(wildcardAbove(api.host))) names.push(api.host);
  return names;
}

/** Returns the wildcard that covers a host: its first label is replaced by a star. */
export function wildcardAbove(host: string): string {
  return `*${host.slice(host.indexOf('.'))}`;
}
