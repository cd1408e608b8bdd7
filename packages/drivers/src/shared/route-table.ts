import { isIP } from 'node:net';
import type { Backend, HostCertificate, HttpChallenge, HttpRoute, RouteOptions, RouteTable, TcpRoute } from '../gateway.ts';
import { DriverError } from '../errors.ts';
import { claimedTwice, RouteClaims, withoutFinalSlash } from '../route-claims.ts';
import { isUsableCertificate } from './host-certificate.ts';

// Every value of a route ends up in HAProxy's configuration, in a map file or in a command of its runtime API. These
// forms exclude white space, quotes, `;`, `#`, `$` and line ends, so that no part of a route can become a directive.
const idForm = /^[A-Za-z0-9_.-]{1,128}$/;
const hostForm = /^(?=.{1,253}$)(\*\.)?[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const pathForm = /^\/(?:[A-Za-z0-9._~!&*+=:@/-]|%[0-9A-Fa-f]{2})*$/;
const addressForm = /^[0-9A-Fa-f:.]+$/;
const networkForm = /^([0-9A-Fa-f:.]+)(?:\/(\d{1,3}))?$/;
const tokenForm = /^[A-Za-z0-9_.-]{1,128}$/;
const challengeForm = /^[A-Za-z0-9_-]{1,256}$/;
const answerForm = /^[A-Za-z0-9_.-]{1,512}$/;
const originForm = /^(?:\*|https?:\/\/[A-Za-z0-9.-]{1,253}(?::\d{1,5})?)$/;
// The value is quoted in the configuration, so it may contain all printable characters.
const headerValueForm = /^[\x21-\x7e][\x20-\x7e]{0,4095}$/;

/**
 * Returns the table with normalized path prefixes (no slash at the end, except for `/` itself). Fails with
 * GATEWAY_FAILED, naming the route and the value, if HAProxy could misparse a value or two routes claim the same place.
 */
export function checkedTable(table: RouteTable, gatewayPort: number, httpsPort: number | null = null): RouteTable {
  const http = table.http.map((route) => checkedHttpRoute(route));
  const tcp = table.tcp.map((route) => checkedTcpRoute(route, gatewayPort, httpsPort));
  new RouteClaims().add({ http, tcp });
  const certificates = table.certificates ?? [];
  for (const certificate of certificates) expectCertificate(certificate);
  const hosts = new Set<string>();
  for (const { host } of certificates) {
    if (hosts.has(host)) throw claimedTwice(`the certificate of ${host}`, [host, host]);
    hosts.add(host);
  }
  const redirects = table.redirects ?? [];
  for (const host of redirects) expectForm(hostForm.test(host), 'a lower-case host name', { route: host, value: host });
  const challenges = table.challenges ?? [];
  for (const challenge of challenges) expectChallenge(challenge);
  return {
    http,
    tcp,
    ...(certificates.length > 0 && { certificates }),
    ...(redirects.length > 0 && { redirects }),
    ...(challenges.length > 0 && { challenges }),
  };
}

function expectCertificate({ host, pem }: HostCertificate): void {
  expectForm(hostForm.test(host), 'a lower-case host name without port', { route: host, value: host });
  if (isUsableCertificate(pem)) return;
  throw new DriverError({
    cause: 'GATEWAY_FAILED',
    message: `The certificate of ${host} is not a private key in PEM with the certificate that belongs to it.`,
    hint: 'Correct the certificate; the gateway keeps what it serves.',
  });
}

function expectChallenge({ host, token, answer }: HttpChallenge): void {
  expectForm(hostForm.test(host), 'a lower-case host name without port', { route: host, value: host });
  expectForm(challengeForm.test(token), 'the token of a challenge', { route: host, value: token });
  expectForm(answerForm.test(answer), 'the answer of a challenge', { route: host, value: answer });
}

function checkedHttpRoute(route: HttpRoute): HttpRoute {
  expectForm(idForm.test(route.id), 'an id', { route: route.id, value: route.id });
  for (const host of route.hosts) {
    expectForm(hostForm.test(host), 'a lower-case host name without port', { route: route.id, value: host });
  }
  expectForm(pathForm.test(route.pathPrefix), 'a path prefix', { route: route.id, value: route.pathPrefix });
  if (route.pathRewrite !== null) {
    expectForm(pathForm.test(route.pathRewrite), 'a path', { route: route.id, value: route.pathRewrite });
  }
  expectBackends(route.id, route.backends);
  expectOptions(route.id, route.options ?? {});
  return {
    id: route.id,
    hosts: [...new Set(route.hosts)],
    pathPrefix: withoutFinalSlash(route.pathPrefix),
    pathRewrite: route.pathRewrite === null ? null : withoutFinalSlash(route.pathRewrite),
    protocol: route.protocol === 'GRPC' ? 'GRPC' : 'HTTP',
    backends: route.backends.map(plainBackend),
    ...(route.options !== undefined && { options: route.options }),
  };
}

/** Returns whether the text is an address, or a network such as `10.0.0.0/8`. */
function isNetwork(text: string): boolean {
  const [, address = '', length] = networkForm.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && (length === undefined || Number(length) <= (version === 4 ? 32 : 128));
}

/** Returns whether a gateway accepts the text as the name of a header, or as a method or header of `crossOrigin`. */
function isHeaderToken(text: string): boolean {
  return tokenForm.test(text);
}

function isHeaderValue(text: string): boolean {
  return headerValueForm.test(text);
}

/** Returns whether the text is `*` or an origin such as `https://app.example.org:8443`. */
function isOrigin(text: string): boolean {
  return originForm.test(text);
}

function expectOptions(route: string, options: RouteOptions): void {
  const numbers = [options.bodyLimitMebibytes, options.connectTimeoutSeconds, options.readTimeoutSeconds];
  for (const value of numbers.filter((one) => one !== undefined)) {
    expectForm(Number.isInteger(value) && value >= 1 && value <= 1_048_576, 'a limit', { route, value });
  }
  for (const value of [...(options.allowedSources ?? []), ...(options.deniedSources ?? [])]) {
    expectForm(isNetwork(value), 'an address or network', { route, value });
  }
  const { origins, methods, headers } = options.crossOrigin ?? { origins: [], methods: [], headers: [] };
  for (const value of origins) expectForm(isOrigin(value), 'an origin', { route, value });
  for (const value of [...methods, ...headers, ...Object.keys(options.headers ?? {})]) {
    expectForm(isHeaderToken(value), 'a word of a header', { route, value });
  }
  for (const value of Object.values(options.headers ?? {})) {
    expectForm(isHeaderValue(value), 'the value of a header', { route, value });
  }
}

function checkedTcpRoute(route: TcpRoute, gatewayPort: number, httpsPort: number | null): TcpRoute {
  expectForm(idForm.test(route.id), 'an id', { route: route.id, value: route.id });
  expectForm(isPort(route.listenPort), 'a port', { route: route.id, value: route.listenPort });
  if (route.listenPort === gatewayPort || route.listenPort === httpsPort) {
    throw new DriverError({
      cause: 'PORT_TAKEN',
      message: `Port ${route.listenPort} of route ${route.id} is one of the gateway's own, for HTTP and HTTPS.`,
    });
  }
  expectBackends(route.id, route.backends);
  const acceptsTls = route.acceptsTls === true && httpsPort !== null;
  return {
    id: route.id,
    listenPort: route.listenPort,
    backends: route.backends.map(plainBackend),
    ...(acceptsTls && { acceptsTls: true as const }),
  };
}

function plainBackend(backend: Backend): Backend {
  return { id: backend.id, host: backend.host, port: backend.port };
}

function expectBackends(route: string, backends: readonly Backend[]): void {
  const seen = new Set<string>();
  for (const backend of backends) {
    expectForm(idForm.test(backend.id), 'the id of a backend', { route, value: backend.id });
    const isAddress = isIP(backend.host) !== 0 && addressForm.test(backend.host);
    expectForm(isAddress, 'the IP address of a backend', { route, value: backend.host });
    expectForm(isPort(backend.port), 'the port of a backend', { route, value: backend.port });
    expectForm(!seen.has(backend.id), 'a backend that is listed once', { route, value: backend.id });
    seen.add(backend.id);
  }
}

function expectForm(holds: boolean, what: string, found: { readonly route: string; readonly value: string | number }): void {
  if (holds) return;
  throw new DriverError({
    cause: 'GATEWAY_FAILED',
    message: `Route ${JSON.stringify(found.route)}: ${JSON.stringify(found.value)} is not ${what} that the gateway accepts.`,
    hint: 'Correct the route; the gateway keeps what it serves.',
  });
}

function isPort(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 65_535;
}
