import { clusterDoor, type FrontDoor } from '../../cluster-settings.ts';
import type { Configuration } from '../../main/config.ts';
import { httpsUrl, httpUrl } from './address.ts';

export type DoorSettings = Pick<Configuration, 'gatewayDomain' | 'gatewayPort' | 'clusterSettings'>;

/** Whether something is on this machine's container engine, which Davit's own gateway leads requests to. */
export function isOnGateway(driver: string): boolean {
  return driver === 'docker';
}

/** Where requests for what is on a cluster come in; null: nowhere, it is reached inside the cluster alone. */
export function doorOf(settings: DoorSettings, driver: string): FrontDoor | null {
  return isOnGateway(driver) ? gatewayDoor(settings) : clusterDoor(settings.clusterSettings, driver);
}

/**
 * The same for a host that a release has. By its name and not by the cluster: until it is deployed again, a service that was moved
 * answers where it was.
 */
export function doorOfHost(settings: DoorSettings, host: string): FrontDoor {
  const domain = host.slice(host.indexOf('.') + 1);
  const doors = Object.keys(settings.clusterSettings).map((id) => clusterDoor(settings.clusterSettings, id));
  return doors.find((door) => door?.domain === domain) ?? gatewayDoor(settings);
}

/** `host:port`; the port is left out where it is the scheme's own. */
export function hostAt({ scheme, port }: FrontDoor, host: string): string {
  return port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
}

/** With the same, and the path unless it is `/`. */
export function urlAt({ scheme, port }: FrontDoor, host: string, path: string): string {
  return scheme === 'https' ? httpsUrl(host, port, path) : httpUrl(host, port, path);
}

function gatewayDoor({ gatewayDomain, gatewayPort }: DoorSettings): FrontDoor {
  return { domain: gatewayDomain, scheme: 'http', port: gatewayPort };
}
