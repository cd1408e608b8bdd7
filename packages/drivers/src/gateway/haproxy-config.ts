import { latencyBucketsMilliseconds, type RouteTable } from '../gateway.ts';
import { certificateFile, certificateList, listText } from './certificates.ts';
import {
  httpBackend,
  httpProxyName,
  listenAddress,
  listLines,
  shortHash,
  tcpListener,
  type TcpListenerSettings,
} from './haproxy-routes.ts';
import { failures, toPages, type ErrorPages } from './pages.ts';
import { tlsRequestScript, tlsRequestScriptText } from './postgresql-tls.ts';

/** The settings that do not come from routes. All values are the operator's and Davit's, not tenants'. */
export interface GatewaySettings {
  /** Absolute path. The folder contains configuration, sockets and state. */
  readonly folder: string;
  readonly port: number;
  /** Null: no HTTPS. */
  readonly httpsPort: number | null;
  readonly bindAddress: string;
  /** Networks (CIDR) of proxies in front of the gateway whose X-Forwarded-* headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Seconds of HSTS on responses over HTTPS of hosts that are redirected to HTTPS; 0: none. */
  readonly hstsSeconds: number;
  readonly errorPages: ErrorPages;
  readonly threads: number;
  /** User and group of the workers after they have opened their ports, if root starts the gateway. */
  readonly user: { readonly name: string; readonly group: string } | null;
  /** Secret that proves to a new worker that a request comes from the worker it replaced. */
  readonly handoverKey: string;
  /** Seconds that a client has to begin at a TCP port that accepts TLS, and to finish the handshake. */
  readonly handshakeSeconds: number;
  /** Whether HAProxy was built with Lua, as the packages of distributions are. */
  readonly hasLua: boolean;
}

/** Contents of the files in the gateway's folder, by file name. */
export type ConfigurationFiles = Readonly<Record<string, string>>;

export const configurationFile = 'haproxy.cfg';
export const mapFile = 'hosts.map';
export const noRoute = 'no-route';
export const latencyTable = 'latency';
// Neither host names nor names of backends contain a colon.
const challengeMark = 'acme:';
const redirectMark = 'https:';

/** Returns all files that HAProxy needs to serve the table. The table must have been checked. */
export function toConfiguration(settings: GatewaySettings, table: RouteTable): ConfigurationFiles {
  const pages = toPages(settings.errorPages);
  return {
    'not-found.html': pages.notFound.html,
    'unavailable.html': pages.unavailable.html,
    ...certificateFiles(settings, table),
    ...(answersTlsRequests(settings) && { [tlsRequestScript]: tlsRequestScriptText }),
    [mapFile]: [...toMap(table)].map(([key, proxy]) => `${key} ${proxy}\n`).join(''),
    [configurationFile]: [
      globalSection(settings),
      defaultsSection(settings),
      frontendSections(settings),
      fixedBackends(settings),
      routeDefaults(),
      ...table.http.map((route) => httpBackend(route)),
      ...table.tcp.map((route) => tcpListener(tcpListenerSettings(settings), route)),
    ].join('\n'),
  };
}

function tcpListenerSettings(settings: GatewaySettings): TcpListenerSettings {
  const { bindAddress, folder, handshakeSeconds } = settings;
  return { bindAddress, instance: shortHash(folder), handshakeSeconds, answersTlsRequests: answersTlsRequests(settings) };
}

function answersTlsRequests({ httpsPort, hasLua }: GatewaySettings): boolean {
  return httpsPort !== null && hasLua;
}

function certificateFiles({ httpsPort }: GatewaySettings, { certificates = [] }: RouteTable): ConfigurationFiles {
  if (httpsPort === null) return {};
  const files = certificates.map((one): [string, string] => [certificateFile(one), one.pem]);
  return { ...Object.fromEntries(files), [certificateList]: listText(certificates) };
}

/**
 * Maps host and path prefix to the name of the backend. The prefix ends with a slash, so that `/api` does not match
 * `/apixel`. HAProxy looks up everything in this one map, so it has two more kinds of entries:
 * - the path of a challenge, with the challenge's response;
 * - `https:` and a host, for hosts that are redirected to HTTPS.
 */
export function toMap(table: RouteTable): Map<string, string> {
  const map = new Map<string, string>();
  for (const route of table.http) {
    const prefix = route.pathPrefix === '/' ? '/' : `${route.pathPrefix}/`;
    for (const host of route.hosts) map.set(host + prefix, httpProxyName(route));
  }
  for (const { host, token, answer } of table.challenges ?? []) {
    map.set(`${host}/.well-known/acme-challenge/${token}/`, `${challengeMark}${answer}`);
  }
  for (const { host, redirect } of table.certificates ?? []) if (redirect) map.set(`${redirectMark}${host}/`, 'redirect');
  for (const host of table.redirects ?? []) map.set(`${redirectMark}${host}/`, 'redirect');
  return map;
}

/** Returns a hash that changes when anything except routes changes. The running HAProxy shows it as its description. */
export function settingsFingerprint(settings: GatewaySettings): string {
  const files = Object.values(toPages(settings.errorPages)).map((page) => page.html);
  const script = answersTlsRequests(settings) ? [tlsRequestScriptText] : [];
  const sections = [
    globalLines(settings, ''),
    defaultsSection(settings),
    frontendSections(settings),
    fixedBackends(settings),
    routeDefaults(),
    // Stands for all ports with the rules that it has: a HAProxy with others must be reloaded.
    tcpListener(tcpListenerSettings(settings), { id: '', listenPort: 0, backends: [], acceptsTls: true }),
  ];
  return `davit-gateway-${shortHash(JSON.stringify([files, sections, ...script]))}`;
}

function globalSection(settings: GatewaySettings): string {
  return `# Written by Davit; changes made by hand are overwritten. docs/how-to/look-at-the-gateway.md
${globalLines(settings, settingsFingerprint(settings))}`;
}

function globalLines(settings: GatewaySettings, fingerprint: string): string {
  const unprivileged =
    settings.user === null
      ? ''
      : `  user ${settings.user.name}\n  group ${settings.user.group}\n  chroot "${settings.folder}/empty"\n`;
  const script = answersTlsRequests(settings) ? `  lua-load ${tlsRequestScript}\n` : '';
  return `global
  description ${fingerprint}
  default-path config
  stats socket "${settings.folder}/worker.sock" mode 600 level admin expose-fd listeners
  stats timeout 1m
  log stderr format raw local0 emerg
  nbthread ${settings.threads}
  # Machines with a limit of a billion open files would otherwise have memory reserved for as many.
  fd-hard-limit 40000
  # Heads of requests and answers may have 15 KiB, and services add up to 8,000 characters of headers and a cookie to each answer.
  tune.bufsize 24576
  tune.maxrewrite 9216
  # Without it a second HAProxy could listen on the same port and take half of the requests.
  noreuseport
  # Former workers keep their open streams (websockets, TCP) that long, and through that many reloads.
  hard-stop-after 12h
  mworker-max-reloads 50
${script}${unprivileged}`;
}

function defaultsSection({ handshakeSeconds }: GatewaySettings): string {
  const errors = failures
    .map(({ status, json }) => `  http-error status ${status} content-type application/json string '${json}'\n`)
    .join('');
  return `defaults http
  mode http
  timeout connect 4s
  timeout http-request 30s
  timeout http-keep-alive 75s
  timeout client 1h
  timeout server 1h
  timeout tunnel 24h
  timeout queue 30s
  # Older versions wait for the end of a TLS handshake as long as for any client.
  .if version_atleast(3.0)
  timeout client-hs ${handshakeSeconds}s
  .endif
  # A worker that is being replaced answers what still comes on idle connections instead of closing them under a request.
  option idle-close-on-response
  # Streams in both directions (gRPC, server-sent events) must not wait for full packets.
  option http-no-delay
  # Servers close idle connections when they like, and a POST that meets the close is lost as it may not be repeated. And an
  # address may belong to another container by then. So no connection to a server is kept for a later request. It costs:
  # 10,000 instead of 26,000 empty answers of one Node.js server a second, measured on two cores.
  option http-server-close
  balance roundrobin
  retries 3
  option redispatch 1
  retry-on conn-failure empty-response
${errors}
defaults tcp
  mode tcp
  timeout connect 4s
  timeout client 24h
  timeout server 24h
  timeout tunnel 24h
  # All tenants share the descriptors of this process.
  maxconn 2000
  option clitcpka
  option srvtcpka
  balance leastconn
  retries 3
  option redispatch 1
`;
}

function frontendSections(settings: GatewaySettings): string {
  const trusted = listLines('trusted', 'src', settings.trustedProxies).join('\n  ');
  return `frontend http from http
  bind ${listenAddress(settings.bindAddress, settings.port)}
${secureLine(settings)}  ${trusted}
  # Also with underscores, as CGI and WSGI programs take both for the same.
  http-request del-header ^x[-_](forwarded[-_].*|real[-_]ip|davit[-_].*)$ -m reg unless trusted
  http-request del-header ^(forwarded|proxy)$ -m reg unless trusted
  http-request add-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto %[ssl_fc,iif(https,http)] if !trusted || !{ req.hdr(x-forwarded-proto) -m found }
  # Who asks, for rules about addresses: of requests from a proxy in front whom that one names.
  http-request set-var(txn.client) src
  http-request set-var(txn.client) req.hdr_ip(x-forwarded-for,-2) if trusted { req.hdr_cnt(x-forwarded-for) gt 1 }
  http-request set-header X-Forwarded-Host %[req.hdr(host)] if !trusted || !{ req.hdr(x-forwarded-host) -m found }
  # An upgrade to h2c would take requests past these rules; clients that know HTTP/2 begin with it.
  http-request del-header upgrade if { req.hdr(upgrade) -m sub -i h2c }
  http-request del-header http2-settings
${findingRoute}${redirecting(settings)}  # This worker has been replaced and no longer knows who answers: the new one does.
  use_backend handover-h2 if { stopping } { fc_http_major 2 }
  use_backend handover if { stopping }
${takingRoute}
frontend handover-listener from http
  bind "${handoverAddress(settings)}"
  http-request deny deny_status 403 unless { req.hdr(x-davit-handover) -m str ${settings.handoverKey} }
  http-request set-var(txn.client) req.hdr_ip(x-davit-client)
  http-request del-header ^x-davit-(handover|client)$ -m reg
${findingRoute}${takingRoute}`;
}

/**
 * Returns the line that opens the HTTPS port. It is strict: a client that requests a host without a certificate does
 * not get the certificate of another host. There may be no certificate at all.
 */
function secureLine({ bindAddress, httpsPort }: GatewaySettings): string {
  if (httpsPort === null) return '';
  return `  bind ${listenAddress(bindAddress, httpsPort)} ssl crt-list ${certificateList} strict-sni alpn h2,http/1.1 ssl-min-ver TLSv1.2\n`;
}

/**
 * Returns the rules that redirect to HTTPS. They follow the rules for challenges, which come over HTTP. A request that
 * reached a trusted proxy over HTTPS is not redirected again.
 */
function redirecting({ httpsPort, hstsSeconds }: GatewaySettings): string {
  if (httpsPort === null) return '';
  const port = httpsPort === 443 ? '' : `:${httpsPort}`;
  const find = (host: string): string => `str(${redirectMark}),concat(,${host},/),map_beg(${mapFile})`;
  return `  http-request set-var(txn.https) ${find('txn.host')} if { req.hdr(x-forwarded-proto) -m str http }
  http-request set-var(txn.star) var(txn.host),regsub(^[^.]+,*)
  http-request set-var(txn.https) ${find('txn.star')} if { req.hdr(x-forwarded-proto) -m str http } !{ var(txn.https) -m found }
  http-request redirect code 308 location https://%[var(txn.host)]${port}%[pathq] if { var(txn.https) -m found }
${hsts(hstsSeconds, find)}`;
}

/**
 * Returns the rules for HSTS (RFC 6797). Only hosts that are redirected get the header: browsers would no longer reach
 * the others over HTTP. A service that sends the header itself has precedence.
 */
function hsts(seconds: number, find: (host: string) => string): string {
  if (seconds === 0) return '';
  return `  http-request set-var(txn.hsts) ${find('txn.host')} if { ssl_fc }
  http-request set-var(txn.hsts) ${find('txn.star')} if { ssl_fc } !{ var(txn.hsts) -m found }
  http-after-response set-header Strict-Transport-Security max-age=${seconds} if { var(txn.hsts) -m found } !{ res.hdr(strict-transport-security) -m found }
`;
}

const findingRoute = `  http-request set-var(txn.path) path
  http-request set-var(txn.host) req.hdr(host),host_only,lower,rtrim(.)
  http-request set-var(txn.route) var(txn.host),concat(,txn.path),concat(/),map_beg(${mapFile},${noRoute})
  http-request set-var(txn.route) var(txn.host),regsub(^[^.]+,*),concat(,txn.path),concat(/),map_beg(${mapFile},${noRoute}) if { var(txn.route) -m str ${noRoute} }
  http-request return status 200 content-type application/octet-stream lf-string "%[var(txn.route),bytes(${challengeMark.length})]" if { var(txn.route) -m beg ${challengeMark} }
`;
const takingRoute = `  use_backend %[var(txn.route)]
  default_backend ${noRoute}
`;

function fixedBackends(settings: GatewaySettings): string {
  const pages = toPages(settings.errorPages);
  const handover = (name: string, options: string): string => `backend ${name} from http
  http-request set-header x-davit-handover ${settings.handoverKey}
  http-request set-header x-davit-client %[var(txn.client)]
  http-request disable-l7-retry if !METH_GET !METH_HEAD !METH_OPTIONS
  server next "${handoverAddress(settings)}"${options}
`;
  return `backend ${noRoute} from http
  http-request return status 404 content-type text/html file not-found.html if { req.hdr(accept) -m sub text/html }
  http-request return status 404 content-type application/json string '${pages.notFound.json}'

${handover('handover', '')}
${handover('handover-h2', ' proto h2')}
# How long the instances of each route took to begin an answer: a counter for each bucket.
backend ${latencyTable} from http
  stick-table type string len 64 size 100k store gpc(${latencyBucketsMilliseconds.length + 1})
`;
}

/** Returns the lines that all backends of routes have in common. */
function routeDefaults(): string {
  const json = toPages({}).unavailable.json;
  return `defaults route from http
  # A request that a server took and left unanswered may be repeated only if repeating does no harm (RFC 9110, 9.2.2).
  http-request disable-l7-retry if !METH_GET !METH_HEAD !METH_OPTIONS
  http-request return status 503 hdr retry-after 5 content-type text/html file unavailable.html if { nbsrv eq 0 } { req.hdr(accept) -m sub text/html }
  http-request return status 503 hdr retry-after 5 content-type application/json string '${json}' if { nbsrv eq 0 }
  http-request track-sc0 be_name table ${latencyTable}
  http-request set-var(txn.began) date(0,ms),neg
  http-response set-var(txn.took) date(0,ms),add(txn.began)
${latencyBuckets()}`;
}

function latencyBuckets(): string {
  const ends = [...latencyBucketsMilliseconds];
  const range = (end: number, index: number): string => (index === 0 ? `le ${end}` : `${(ends[index - 1] ?? 0) + 1}:${end}`);
  return [...ends.map(range), `gt ${ends.at(-1)}`]
    .map((values, index) => `  http-response sc-inc-gpc(${index},0) if { var(txn.took) -m int ${values} }\n`)
    .join('');
}

/**
 * Returns an abstract socket. It has no path in the file system, so a worker without privileges and in a chroot can
 * reach it.
 */
function handoverAddress(settings: GatewaySettings): string {
  return `abns@davit-gateway-${shortHash(settings.folder)}`;
}
