import type { Backend, RouteTable } from '../gateway.ts';
import { certificateCommands, certificateFile, fitsCommands, type CertificateCommands } from './certificates.ts';
import { mapFile, noRoute, toMap } from './haproxy-config.ts';
import { httpProxyName, isSticky, serverArguments, serverName, tcpProxyName, tlsProxyName } from './haproxy-routes.ts';
import type { Serving } from './runtime-api.ts';

/** The differences between the running HAProxy and a table. */
export interface Changes {
  /** Why a reload is required; null if none is. */
  readonly reload: string | null;
  /** Commands of the runtime API for the other changes, in order. */
  readonly commands: readonly string[];
  /**
   * Commands for certificates, each to be sent separately. They come before all other commands, as those may lead
   * requests to a new certificate.
   */
  readonly certificates: CertificateCommands;
}

const noCommands = { commands: [], certificates: { added: [], removed: [] } };

interface WantedProxy {
  readonly protocol: 'HTTP' | 'GRPC' | 'TCP';
  readonly backends: readonly Backend[];
  readonly sticky: boolean;
}

/**
 * Servers that were taken out of service stay in the process until the next reload: HAProxy 2.6 may crash if a server
 * is deleted while a stream still refers to it (https://github.com/haproxy/haproxy/issues/2323), and each costs some
 * kilobytes. At this number of servers, a reload clears them.
 */
export const retiredServersLimit = 256;

/** Compares what HAProxy serves with what it should serve. Pure. */
export function changesTo(table: RouteTable, serving: Serving, fingerprint: string): Changes {
  const wanted = wantedProxies(table);
  const reload = reasonToReload(wanted, serving, fingerprint);
  if (reload !== null) return { reload, ...noCommands };
  const shown = table.certificates ?? [];
  const missing = shown.filter((one) => !serving.certificates.has(certificateFile(one)));
  if (!fitsCommands(missing)) return { reload: 'a certificate is too long for a command', ...noCommands };
  // New servers come first, old ones last: at no moment does a route have fewer servers than before or after the
  // change.
  const { added, retired } = serverCommands(wanted, serving);
  const commands = [...added, ...mapCommands(toMap(table), serving.map), ...retired];
  return { reload: null, commands, certificates: certificateCommands(shown, serving.certificates) };
}

function wantedProxies(table: RouteTable): Map<string, WantedProxy> {
  const wanted = new Map<string, WantedProxy>();
  for (const route of table.http) {
    wanted.set(httpProxyName(route), { protocol: route.protocol, backends: route.backends, sticky: isSticky(route) });
  }
  for (const route of table.tcp) {
    wanted.set(tcpProxyName(route), { protocol: 'TCP', backends: route.backends, sticky: false });
    const tls = tlsProxyName(route);
    if (tls !== null) wanted.set(tls, { protocol: 'TCP', backends: [], sticky: false });
  }
  return wanted;
}

function reasonToReload(wanted: ReadonlyMap<string, WantedProxy>, serving: Serving, fingerprint: string): string | null {
  if (serving.fingerprint !== fingerprint) return 'settings changed';
  for (const [proxy, { backends, sticky }] of wanted) {
    if (!serving.proxies.has(proxy)) return `${proxy} is new`;
    const known = serving.servers.get(proxy);
    if (sticky && backends.some((backend) => !known?.has(serverName(backend)))) return `${proxy} has a server without a cookie`;
  }
  for (const proxy of serving.proxies) {
    // An HTTP proxy without an entry in the map gets no requests. A TCP proxy keeps its port open.
    if (/^(tcp|tls)_/.test(proxy) && !wanted.has(proxy)) return `${proxy} is gone`;
  }
  let retired = 0;
  for (const [proxy, servers] of serving.servers) {
    if (!isOfRoute(proxy)) continue;
    const names = new Set(wanted.get(proxy)?.backends.map((backend) => serverName(backend)));
    for (const [name, server] of servers) {
      if (!names.has(name)) retired += 1;
      else if (!server.address.includes('::') && !name.endsWith(`:${server.address}`)) return `${proxy}/${name} was moved`;
    }
  }
  return retired > retiredServersLimit ? `${retired} retired servers` : null;
}

function serverCommands(
  wanted: ReadonlyMap<string, WantedProxy>,
  serving: Serving,
): { readonly added: string[]; readonly retired: string[] } {
  const added: string[] = [];
  const retired: string[] = [];
  for (const [proxy, { protocol, backends }] of wanted) {
    for (const backend of backends) {
      const name = serverName(backend);
      const known = serving.servers.get(proxy)?.get(name);
      if (known === undefined) added.push(`add server ${proxy}/${name} ${serverArguments(backend, protocol)}`);
      if (known?.isReady !== true) added.push(`set server ${proxy}/${name} state ready`);
    }
  }
  for (const [proxy, servers] of serving.servers) {
    if (!isOfRoute(proxy)) continue;
    const names = new Set(wanted.get(proxy)?.backends.map((backend) => serverName(backend)));
    for (const [name, server] of servers) {
      // Maintenance mode lets requests under way run to their end and accepts no new ones.
      if (server.isReady && !names.has(name)) retired.push(`set server ${proxy}/${name} state maint`);
    }
  }
  return { added, retired };
}

function mapCommands(wanted: ReadonlyMap<string, string>, serving: ReadonlyMap<string, string>): string[] {
  const commands: string[] = [];
  for (const [key, proxy] of wanted) {
    const now = serving.get(key);
    if (now === undefined) commands.push(`add map ${mapFile} ${key} ${proxy}`);
    else if (now !== proxy) commands.push(`set map ${mapFile} ${key} ${proxy}`);
  }
  for (const [key, proxy] of serving) {
    if (!wanted.has(key) && proxy !== noRoute) commands.push(`del map ${mapFile} ${key}`);
  }
  return commands;
}

/** Returns whether the proxy belongs to a route; the other proxies are the gateway's own. */
function isOfRoute(proxy: string): boolean {
  return proxy.startsWith('http_') || proxy.startsWith('tcp_');
}
