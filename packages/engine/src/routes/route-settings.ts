import type { ReleaseConfig, ReleaseOptions, ReleasePort } from '../model.ts';

/*
 * Settings of routes that only Davit's own gateway applies, by the names under which users set them. Where a cluster
 * routes requests in by itself, nothing applies them.
 */

type Routed = Pick<ReleaseConfig, 'ports' | 'options'>;
type RouteOptions = NonNullable<NonNullable<ReleaseOptions['gateway']>['http']>;

/**
 * Returns the settings by which a release restricts who may use its public HTTP and gRPC ports; empty if everybody may.
 * Pure.
 */
export function sourceSettings({ ports, options }: Routed): string[] {
  const all = ports.filter(isRouted).map((port) => optionsOf(port, options));
  const isAllowing = all.some(({ allowedSources }) => allowedSources !== undefined && !isEverybody(allowedSources));
  const isDenying = all.some(({ deniedSources = [] }) => deniedSources.length > 0);
  return [
    ...(isAllowing ? ['network.ingress.whitelist_source_range'] : []),
    ...(isDenying ? ['network.ingress.denylist_source_range'] : []),
  ];
}

/** Returns the other settings of a release for its public HTTP and gRPC ports. Pure. */
export function otherSettings({ ports, options }: Routed): string[] {
  const routed = ports.filter(isRouted);
  const rewritten = routed.filter(({ pathPrefix, pathRewrite }) => pathRewrite !== null && pathRewrite !== pathPrefix);
  const set = new Set(routed.flatMap((port) => namesOf(port, optionsOf(port, options))));
  const isPlain = routed.length > 0 && options?.plainHttp === true;
  return [
    ...rewritten.map(({ internalPort }) => `public_path_rewrite of port ${internalPort}`),
    ...[...set, ...(isPlain ? ['force_ssl_redirect'] : [])].map((name) => `network.ingress.${name}`),
  ];
}

/** Returns whether requests from outside are routed to a port. False if the cluster has no address for it. */
function isRouted({ public: isPublic, protocol, hosts, customHosts = [] }: ReleasePort): boolean {
  return isPublic && (protocol === 'HTTP' || protocol === 'GRPC') && hosts.length + customHosts.length > 0;
}

function optionsOf({ protocol }: ReleasePort, options: ReleaseOptions | undefined): RouteOptions {
  return (protocol === 'GRPC' ? options?.gateway?.grpc : options?.gateway?.http) ?? {};
}

function namesOf({ protocol }: ReleasePort, options: RouteOptions): string[] {
  const names: readonly (readonly [string, unknown])[] = [
    ['proxy_body_size_mb', options.bodyLimitMebibytes],
    ['proxy_connect_timeout_seconds', options.connectTimeoutSeconds],
    [protocol === 'GRPC' ? 'grpc_read_timeout_seconds' : 'proxy_read_timeout_seconds', options.readTimeoutSeconds],
    ['enable_sticky_session', options.sticky],
    ['enable_cors', options.crossOrigin],
    ['extra_headers', options.headers],
  ];
  return names.flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

/**
 * Returns whether the sources include everybody: all of IPv4, and either all of IPv6 or no IPv6 source. A user who only
 * names 0.0.0.0/0 means everybody.
 */
function isEverybody(sources: readonly string[]): boolean {
  const isAll = (source: string): boolean => source.endsWith('/0');
  const four = sources.filter((source) => !source.includes(':'));
  const six = sources.filter((source) => source.includes(':'));
  return four.some(isAll) && (six.length === 0 || six.some(isAll));
}
