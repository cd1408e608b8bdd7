import type { ReleaseConfig, ReleaseOptions, ReleasePort } from '../model.ts';

/*
 * What users set of routes and only Davit's own gateway does, by the names under which they set it. Where a cluster leads requests in by
 * itself, nobody does it.
 */

type Routed = Pick<ReleaseConfig, 'ports' | 'options'>;
type RouteOptions = NonNullable<NonNullable<ReleaseOptions['gateway']>['http']>;

/** Settings by which a release restricts who is served at its public HTTP and gRPC ports; empty: everybody is. Pure. */
export function sourceSettings({ ports, options }: Routed): string[] {
  const all = ports.filter(isRouted).map((port) => optionsOf(port, options));
  const isAllowing = all.some(({ allowedSources }) => allowedSources !== undefined && !isEverybody(allowedSources));
  const isDenying = all.some(({ deniedSources = [] }) => deniedSources.length > 0);
  return [
    ...(isAllowing ? ['network.ingress.whitelist_source_range'] : []),
    ...(isDenying ? ['network.ingress.denylist_source_range'] : []),
  ];
}

/** The other settings that a release has of its public HTTP and gRPC ports. Pure. */
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

/** Whether requests are led to it from outside: not where its cluster has no address for it. */
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

/** All of IPv4, and of IPv6 all or nothing: whoever names only 0.0.0.0/0 means everybody. */
function isEverybody(sources: readonly string[]): boolean {
  const isAll = (source: string): boolean => source.endsWith('/0');
  const four = sources.filter((source) => !source.includes(':'));
  const six = sources.filter((source) => source.includes(':'));
  return four.some(isAll) && (six.length === 0 || six.some(isAll));
}
