import { clusterEndpoint, type PublicEndpoint } from '../../cluster-settings.ts';
import type { Settings } from '../../configuration.ts';
import { isLocalDriver } from '../../local-driver.ts';

export type EndpointSettings = Settings<'gatewayDomain' | 'gatewayPort' | 'clusterSettings'>;

/** Returns the public entry point of a cluster, or null if its services are reachable only inside the cluster. */
export function endpointOf(settings: EndpointSettings, driver: string): PublicEndpoint | null {
  return isLocalDriver(driver) ? gatewayEndpoint(settings) : clusterEndpoint(settings.clusterSettings, driver);
}

/**
 * Returns the public entry point for a host of a release. The host name decides, not the current cluster: a service
 * that was moved responds at the old cluster until it is deployed again.
 */
export function endpointOfHost(settings: EndpointSettings, host: string): PublicEndpoint {
  const domain = host.slice(host.indexOf('.') + 1);
  const endpoints = Object.keys(settings.clusterSettings).map((id) => clusterEndpoint(settings.clusterSettings, id));
  return endpoints.find((endpoint) => endpoint?.domain === domain) ?? gatewayEndpoint(settings);
}

/** Returns `host:port`. The scheme's default port is left out. */
export function hostAt({ scheme, port }: PublicEndpoint, host: string): string {
  return port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
}

/** Returns the URL. The scheme's default port and the path `/` are left out. */
export function urlAt({ scheme, port }: PublicEndpoint, host: string, path: string): string {
  return scheme === 'https' ? httpsUrl(host, port, path) : httpUrl(host, port, path);
}

function gatewayEndpoint({ gatewayDomain, gatewayPort }: EndpointSettings): PublicEndpoint {
  return { domain: gatewayDomain, scheme: 'http', port: gatewayPort };
}

/** Returns `http://host:4480/path`. The scheme's default port is left out. */
function httpUrl(host: string, port: number, path: string): string {
  return `http://${hostAndPort(host, port)}${path === '/' ? '' : path}`;
}

/** Returns `https://host:port/path`. The scheme's default port is left out. */
export function httpsUrl(host: string, port: number, path: string): string {
  return `https://${port === 443 ? host : `${host}:${port}`}${path === '/' ? '' : path}`;
}

function hostAndPort(host: string, port: number): string {
  return port === 80 ? host : `${host}:${port}`;
}
