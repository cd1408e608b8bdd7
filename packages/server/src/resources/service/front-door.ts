import { clusterDoor, type FrontDoor } from '../../cluster-settings.ts';
import type { Settings } from '../../configuration.ts';
import { isLocalDriver } from '../../local-driver.ts';
import { httpsUrl, httpUrl } from './address.ts';

export type DoorSettings = Settings<'gatewayDomain' | 'gatewayPort' | 'clusterSettings'>;

/** Returns the public entry point of a cluster, or null if its services are reachable only inside the cluster. */
export function doorOf(settings: DoorSettings, driver: string): FrontDoor | null {
  return isLocalDriver(driver) ? gatewayDoor(settings) : clusterDoor(settings.clusterSettings, driver);
}

/**
 * Returns the public entry point for a host of a release. The host name decides, not the current cluster: a service
 * that was moved responds at the old cluster until it is deployed again.
 */
export function doorOfHost(settings: DoorSettings, host: string): FrontDoor {
  const domain = host.slice(host.indexOf('.') + 1);
  const doors = Object.keys(settings.clusterSettings).map((id) => clusterDoor(settings.clusterSettings, id));
  return doors.find((door) => door?.domain === domain) ?? gatewayDoor(settings);
}

/** Returns `host:port`. The scheme's default port is left out. */
export function hostAt({ scheme, port }: FrontDoor, host: string): string {
  return port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
}

/** Returns the URL. The scheme's default port and the path `/` are left out. */
export function urlAt({ scheme, port }: FrontDoor, host: string, path: string): string {
  return scheme === 'https' ? httpsUrl(host, port, path) : httpUrl(host, port, path);
}

function gatewayDoor({ gatewayDomain, gatewayPort }: DoorSettings): FrontDoor {
  return { domain: gatewayDomain, scheme: 'http', port: gatewayPort };
}
