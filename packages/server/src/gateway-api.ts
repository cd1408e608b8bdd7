import { isIP } from 'node:net';
import type { HostPort, Settings } from './configuration.ts';

export type GatewayApiSettings = Settings<
  'publicUrl' | 'gatewayApi' | 'gatewayHttpsPort' | 'host' | 'port' | 'role' | 'localEngine'
>;

/** The API as the gateway serves it. */
export interface GatewayApi {
  /** Host name of the public URL. */
  readonly host: string;
  readonly addresses: readonly HostPort[];
}

/**
 * Returns under which name the gateway serves the API and the console, and where it finds them. Null: the gateway
 * serves neither, because there is no gateway, or another proxy answers at the public URL.
 */
export function gatewayApi(config: GatewayApiSettings): GatewayApi | null {
  const { publicUrl, gatewayHttpsPort, localEngine } = config;
  const url = publicUrl === null ? null : URL.parse(publicUrl);
  if (url?.protocol !== 'https:' || url.pathname !== '/' || gatewayHttpsPort === null || !localEngine) return null;
  const host = url.hostname.toLowerCase();
  // A certificate is issued for names only.
  if (host.startsWith('[') || isIP(host) !== 0) return null;
  if (config.gatewayApi !== null) return config.gatewayApi.length === 0 ? null : { host, addresses: config.gatewayApi };
  const address = config.role === 'all' ? ownAddress(config) : null;
  // With another port, the operator has put a proxy of his own in front of the API.
  const isAtGateway = Number(url.port === '' ? 443 : url.port) === gatewayHttpsPort;
  return isAtGateway && address !== null ? { host, addresses: [address] } : null;
}

/** Returns where this process serves the API; null if it does not, or at a port that is chosen later. */
function ownAddress({ host, port, role }: GatewayApiSettings): HostPort | null {
  if (role === 'worker' || port === 0) return null;
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1', localhost: '127.0.0.1' }[host] ?? host;
  return isIP(address) === 0 ? null : { host: address, port };
}

/**
 * Returns the proxies whose `X-Forwarded-For` the API believes: all if the operator says so, otherwise only the gateway
 * on this machine if it serves the API.
 */
export function trustedProxies(config: GatewayApiSettings & Settings<'trustProxy'>): boolean | string[] {
  if (config.trustProxy) return true;
  const address = gatewayApi(config)?.addresses.find(({ host }) => host === ownAddress(config)?.host);
  return address === undefined ? false : ['127.0.0.0/8', '::1', address.host];
}
