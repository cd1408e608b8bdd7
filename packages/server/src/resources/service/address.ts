/** The first eight hexadecimal digits of an id: short, and enough to tell services of one installation apart. */
export function shortId(id: string): string {
  return id.replaceAll('-', '').slice(0, 8).toLowerCase();
}

/** Lower case letters, digits and single dashes inside, of at most that length; empty when nothing of the name remains. */
export function slug(name: string, longest: number): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    // Accents are dropped, other foreign characters separate.
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '');
  return plain.slice(0, longest).replace(/-+$/, '');
}

// A DNS label has 63 characters: port 14 + service 22 + environment 16 + id 8 + three dashes.
const longest = { port: 14, service: 22, environment: 16 };

/** What the name of a port becomes in a host name. */
export function portLabel(name: string): string {
  return slug(name, longest.port);
}

export interface AddressedService {
  readonly serviceId: string;
  readonly serviceName: string;
  readonly environmentName: string;
}

/**
 * `<service>-<environment>-<short id>`, the first label of a service's address; parts without a usable character are left out.
 * The id makes it unique, so names may be cut.
 */
export function serviceLabel({ serviceId, serviceName, environmentName }: AddressedService): string {
  return [slug(serviceName, longest.service), slug(environmentName, longest.environment), shortId(serviceId)]
    .filter((part) => part !== '')
    .join('-');
}

/** Host name of a public port: the default one has the service's own, the others put their name before it. */
export function publicHost(
  service: AddressedService,
  port: { readonly name: string; readonly isDefault: boolean },
  domain: string,
): string {
  const label = serviceLabel(service);
  return port.isDefault ? `${label}.${domain}` : `${portLabel(port.name)}-${label}.${domain}`;
}

/** Names under which other services of the environment reach a service: one that never changes, and its name if that is one. */
export function internalHosts(service: { readonly serviceName: string }, stable: string): readonly string[] {
  const name = service.serviceName.toLowerCase();
  const isLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name) && name !== 'localhost' && /[a-z]/.test(name);
  return isLabel && name !== stable ? [stable, name] : [stable];
}

/** `http://host:4480/path`; the port is left out where it is the scheme's own. */
export function httpUrl(host: string, port: number, path: string): string {
  return `http://${hostAndPort(host, port)}${path === '/' ? '' : path}`;
}

/** The same for https. */
export function httpsUrl(host: string, port: number, path: string): string {
  return `https://${port === 443 ? host : `${host}:${port}`}${path === '/' ? '' : path}`;
}

export function hostAndPort(host: string, port: number): string {
  return port === 80 ? host : `${host}:${port}`;
}
