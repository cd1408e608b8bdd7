import { createHash } from 'node:crypto';
import type { Backend, CrossOrigin, HttpRoute, TcpRoute } from '../gateway.ts';
import { certificateList } from './certificates.ts';
import { tlsRequestRules } from './postgresql-tls.ts';

/* Builds HAProxy's configuration of one route: its backend, the servers, and the rules of its options. */

/**
 * Returns the name of a backend. The name contains a hash of all options that cannot be changed at run time, so it
 * changes with them. The names that the running HAProxy lists therefore show whether it can serve a table without a
 * reload.
 */
export function httpProxyName(route: HttpRoute): string {
  const rewriting = route.pathRewrite === null ? null : [route.pathPrefix, route.pathRewrite];
  const structure = JSON.stringify([route.protocol, rewriting, ...(route.options === undefined ? [] : [route.options])]);
  let hash = structureHashes.get(structure);
  if (hash === undefined) structureHashes.set(structure, (hash = shortHash(structure)));
  return `http_${route.id}_${hash}`;
}

/**
 * Cache: routes have few distinct options, but names are requested often. With a thousand routes, hashing took a third
 * of a change.
 */
const structureHashes = new Map<string, string>();

export function tcpProxyName(route: TcpRoute): string {
  return `tcp_${route.listenPort}_${route.id}`;
}

/**
 * Returns the name of a server, which contains the instance and its address. Another instance, or the same instance at
 * another address, is another server. So no pooled connection can outlive a change of its destination.
 */
export function serverName(backend: Backend): string {
  return `${backend.id}:${backend.host}:${backend.port}`;
}

/**
 * Returns address and options in the syntax of `server` lines and `add server`. Servers added at run time inherit no
 * defaults.
 */
export function serverArguments(backend: Backend, protocol: 'HTTP' | 'GRPC' | 'TCP'): string {
  const host = backend.host.includes(':') ? `[${backend.host}]` : backend.host;
  return `${host}:${backend.port}${protocol === 'GRPC' ? ' proto h2 pool-max-conn 0' : ''}`;
}

export function httpBackend(route: HttpRoute): string {
  return `backend ${httpProxyName(route)} from route
${optionLines(route)}${rewriting(route)}${serverLines(route.backends, route.protocol, isSticky(route))}`;
}

/** Returns whether the servers need a cookie; a server that is added at run time cannot have one (HAProxy 2.6). */
export function isSticky({ options }: HttpRoute): boolean {
  return options?.sticky === true;
}

function optionLines({ options = {} }: HttpRoute): string {
  const { allowedSources, deniedSources, bodyLimitMebibytes, connectTimeoutSeconds, readTimeoutSeconds } = options;
  const lines: string[] = [];
  const deny = (status: number, condition: string): number => lines.push(`http-request deny deny_status ${status} ${condition}`);
  if (allowedSources !== undefined) {
    lines.push(...listLines('allowed', 'var(txn.client) -m ip', allowedSources));
    deny(403, 'unless allowed');
  }
  if (deniedSources !== undefined) {
    lines.push(...listLines('denied', 'var(txn.client) -m ip', deniedSources));
    deny(403, 'if denied');
  }
  if (bodyLimitMebibytes !== undefined) deny(413, `if { req.hdr_val(content-length) gt ${bodyLimitMebibytes * 1024 * 1024} }`);
  if (connectTimeoutSeconds !== undefined) lines.push(`timeout connect ${connectTimeoutSeconds}s`);
  if (readTimeoutSeconds !== undefined) lines.push(`timeout server ${readTimeoutSeconds}s`);
  if (options.sticky === true) lines.push(`cookie ${stickyCookie} insert indirect nocache httponly`);
  if (options.crossOrigin !== undefined) lines.push(...crossOriginLines(options.crossOrigin));
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    lines.push(`http-after-response set-header ${name} ${quotedFormat(value)}`);
  }
  return lines.map((line) => `  ${line}\n`).join('');
}

// HAProxy accepts 64 words in a line.
const wordsInLine = 50;

/**
 * Returns the lines of a condition that holds if one of the words matches: lines with the same name are alternatives.
 * Without words the condition never holds.
 */
export function listLines(name: string, test: string, words: readonly string[]): string[] {
  if (words.length === 0) return [`acl ${name} always_false`];
  const count = Math.ceil(words.length / wordsInLine);
  return Array.from(
    { length: count },
    (_, index) => `acl ${name} ${test} ${words.slice(index * wordsInLine, (index + 1) * wordsInLine).join(' ')}`,
  );
}

const stickyCookie = 'DAVIT_INSTANCE';

/**
 * Implements https://fetch.spec.whatwg.org/#http-cors-protocol. Named origins may send cookies; with `*` they may not.
 */
function crossOriginLines({ origins, methods, headers }: CrossOrigin): string[] {
  const isAny = origins.includes('*');
  const isAllowed = isAny ? '{ var(txn.origin) -m found }' : 'origin';
  const isPreflight = 'METH_OPTIONS { req.hdr(access-control-request-method) -m found }';
  // HAProxy refuses an empty value. Without the header only requests that need no permission are allowed, and that is
  // the meaning of an empty list.
  const header = (name: string, words: readonly string[]): string =>
    words.length === 0 ? '' : ` hdr ${name} ${quotedFormat(words.join(', '))}`;
  const answer = `${header('Access-Control-Allow-Methods', methods)}${header('Access-Control-Allow-Headers', headers)}`;
  return [
    'http-request set-var(txn.origin) req.hdr(origin)',
    ...(isAny ? [] : listLines('origin', 'var(txn.origin) -m str -i', origins)),
    `http-request return status 204${answer} hdr Access-Control-Max-Age 600 if ${isPreflight} ${isAllowed}`,
    `http-after-response set-header Access-Control-Allow-Origin ${isAny ? '*' : '%[var(txn.origin)]'} if ${isAllowed}`,
    ...(isAny
      ? []
      : [
          `http-after-response set-header Access-Control-Allow-Credentials true if ${isAllowed}`,
          'http-after-response add-header Vary Origin',
        ]),
  ];
}

/** Quotes a word for HAProxy's configuration, so that no character of it has a special meaning. */
function quotedFormat(text: string): string {
  return `"${text.replace(/["\\$]/g, '\\$&').replaceAll('%', '%%')}"`;
}

function rewriting(route: HttpRoute): string {
  if (route.pathRewrite === null) return '';
  const prefixLength = route.pathPrefix === '/' ? 0 : route.pathPrefix.length;
  // Rewriting to `/` keeps the text after the prefix without its leading slash. The prefix alone then becomes `/`, not
  // an empty path.
  const [target, skipped] =
    route.pathRewrite === '/' ? ['/', prefixLength + 1] : [route.pathRewrite.replaceAll('%', '%%'), prefixLength];
  const forwardedPrefix =
    route.pathPrefix === '/' ? '' : `  http-request set-header X-Forwarded-Prefix ${route.pathPrefix.replaceAll('%', '%%')}\n`;
  return `${forwardedPrefix}  http-request set-path ${target}%[path,bytes(${skipped})]\n`;
}

/** Returns the name of the backend that terminates TLS for a TCP route; null if the route does not accept TLS. */
export function tlsProxyName(route: TcpRoute): string | null {
  return route.acceptsTls === true ? `tls_${route.listenPort}_${route.id}` : null;
}

export interface TcpListenerSettings {
  readonly bindAddress: string;
  /** A text that differs between the gateways of a machine. */
  readonly instance: string;
  /** See `GatewaySettings.handshakeSeconds`. */
  readonly handshakeSeconds: number;
  /** Whether HAProxy runs the script that answers requests for TLS of PostgreSQL's clients (`postgresql-tls.ts`). */
  readonly answersTlsRequests: boolean;
}

/** Returns the sections of one TCP route: its port, its backend and, if it accepts TLS, what terminates TLS. */
export function tcpListener(settings: TcpListenerSettings, route: TcpRoute): string {
  const { bindAddress, instance, handshakeSeconds, answersTlsRequests } = settings;
  const name = tcpProxyName(route);
  const tls = tlsProxyName(route);
  const servers = serverLines(route.backends, 'TCP');
  const bind = `bind ${listenAddress(bindAddress, route.listenPort)}`;
  if (tls === null) return `listen ${name} from tcp\n  ${bind}\n${servers}`;
  const address = `abns@davit-tls-${instance}-${route.listenPort}`;
  const [answering, taking] = answersTlsRequests ? tlsRequestRules(tls) : ['', ''];
  // A connection with TLS comes back over the abstract socket without it, so that one port accepts both. The first
  // bytes of another protocol may look like those of TLS, such as the length of a message; the tenth byte of a greeting
  // of TLS is part of a version. Whether a greeting is whole is asked last: the answer waits for as many bytes as the
  // first ones name, which those of another protocol may never send.
  //
  // The last content rule is reached after the delay by a client that has sent nothing, or only a part of a greeting:
  // otherwise it would hold three descriptors for as long as a client of a database may be idle. For the same reason
  // the terminator has a short timeout. It ends with the handshake: after that the tunnel's counts.
  return `frontend port_${route.listenPort} from tcp
  ${bind}
  tcp-request inspect-delay ${handshakeSeconds}s
${answering}  tcp-request content accept if { req.len gt 0 } !{ req.payload(0,2) -m bin 1603 }
  tcp-request content accept if { req.len gt 9 } !{ req.payload(9,1) -m bin 03 }
  tcp-request content accept if { req.ssl_hello_type 1 }
  tcp-request content reject
${taking}  use_backend ${tls} if { req.payload(9,1) -m bin 03 } { req.ssl_hello_type 1 }
  default_backend ${name}

backend ${tls} from tcp
  server terminator ${address}

frontend terminator_${route.listenPort} from tcp
  bind ${address} ssl crt-list ${certificateList} strict-sni alpn postgresql ssl-min-ver TLSv1.2
  timeout client ${handshakeSeconds}s
  default_backend ${name}

backend ${name} from tcp
${servers}`;
}

function serverLines(backends: readonly Backend[], protocol: 'HTTP' | 'GRPC' | 'TCP', sticky = false): string {
  return backends
    .map((backend) => {
      const cookie = sticky ? ` cookie ${shortHash(serverName(backend))}` : '';
      return `  server ${serverName(backend)} ${serverArguments(backend, protocol)}${cookie}\n`;
    })
    .join('');
}

/** Returns the address in the syntax of `bind`. */
export function listenAddress(address: string, port: number): string {
  if (address === '::') return `[::]:${port} v4v6`;
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Returns eight characters of the text's SHA-256 digest. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
