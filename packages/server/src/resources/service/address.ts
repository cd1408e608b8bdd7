/**
 * Returns the first eight hexadecimal digits of an id. They are enough to distinguish the services of one installation.
 */
export function shortId(id: string): string {
  return id.replaceAll('-', '').slice(0, 8).toLowerCase();
}

/**
 * Returns at most `longest` lower case letters, digits and inner dashes; empty when no character of the name is usable.
 */
export function slug(name: string, longest: number): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    // Accents are dropped; other foreign characters become separators.
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '');
  return plain.slice(0, longest).replace(/-+$/, '');
}

// A DNS label has 63 characters: port 14 + service 22 + environment 16 + id 8 + three dashes.
const longest = { port: 14, service: 22, environment: 16 };

/** Returns the form of a port's name that host names contain. */
export function portLabel(name: string): string {
  return slug(name, longest.port);
}

export interface AddressedService {
  readonly serviceId: string;
  readonly serviceName: string;
  readonly environmentName: string;
}

/**
 * Returns `<service>-<environment>-<short id>`, the first label of a service's address. Parts without a usable
 * character are left out. The id makes the label unique, so names may be cut.
 */
export function serviceLabel({ serviceId, serviceName, environmentName }: AddressedService): string {
  return [slug(serviceName, longest.service), slug(environmentName, longest.environment), shortId(serviceId)]
    .filter((part) => part !== '')
    .join('-');
}

/**
 * Returns the host name of a public port. The default port has the service's own host name; other ports prepend their
 * name.
 */
export function publicHost(
  service: AddressedService,
  port: { readonly name: string; readonly isDefault: boolean },
  domain: string,
): string {
  const label = serviceLabel(service);
  return port.isDefault ? `${label}.${domain}` : `${portLabel(port.name)}-${label}.${domain}`;
}

/**
 * Returns the host names by which other services of the environment reach a service: `stable`, which never changes, and
 * the service's name if it is a valid host name.
 */
export function internalHosts(service: { readonly serviceName: string }, stable: string): readonly string[] {
  const name = service.serviceName.toLowerCase();
  const isLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name) && name !== 'localhost' && /[a-z]/.test(name);
  return isLabel && name !== stable ? [stable, name] : [stable];
}
