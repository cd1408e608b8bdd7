import { createSecureContext } from 'node:tls';
import { load } from 'js-yaml';
import { DriverError } from '../../errors.ts';

/** The address of an API server and the credentials for it. All of it is secret except `server`. */
export interface ClusterAccess {
  /** `https://host:port`, optionally with a path, without a trailing slash. */
  readonly server: string;
  /** CA certificates as PEM. If absent, the authorities that Node.js trusts apply. */
  readonly authority?: string;
  /** If true, the server's certificate is not verified. */
  readonly isUnchecked: boolean;
  /** Name in the server's certificate, if it differs from the host of `server`. */
  readonly serverName?: string;
  readonly token?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  /** Client certificate as PEM. */
  readonly certificate?: string;
  readonly key?: string;
}

/** No kubeconfig needs more YAML aliases. A few nested aliases expand to more text than fits into memory. */
const maxAliases = 50;
/** Number of contexts listed in the error if the kubeconfig does not say which one to use. */
const maxNames = 10;
const longestName = 100;

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};

/**
 * Reads a kubeconfig: its current context, or its only one. The text comes from the operator of the cluster, so nothing
 * in it may reach this machine: programs (`exec`, `auth-provider`) are not run and files are not read. A kubeconfig
 * that needs them is refused with a hint what to use instead. Fails with CLUSTER_ACCESS_INVALID. Pure.
 */
export function readKubeconfig(text: string): ClusterAccess {
  const config = fieldsOf(parse(text));
  const { cluster: clusterName, user: userName } = currentContext(config);
  const cluster = named(config, 'clusters', 'cluster', clusterName);
  const user = named(config, 'users', 'user', userName);
  refuseForeign(cluster, ['certificate-authority', 'proxy-url'], 'cluster');
  refuseForeign(user, ['exec', 'auth-provider', 'client-certificate', 'client-key', 'tokenFile', 'as', 'as-groups'], 'user');
  const authority = pem(cluster, 'certificate-authority-data');
  const certificate = pem(user, 'client-certificate-data');
  const key = pem(user, 'client-key-data');
  if ((certificate === undefined) !== (key === undefined)) {
    throw invalid('has only one of client-certificate-data and client-key-data', 'Give both, or neither.');
  }
  refuseUnusable({ authority, certificate, key });
  const serverName = textOf(cluster, 'tls-server-name');
  const token = tokenOf(user);
  const username = textOf(user, 'username');
  return {
    server: serverOf(cluster),
    isUnchecked: cluster['insecure-skip-tls-verify'] === true,
    ...(authority !== undefined && { authority }),
    ...(serverName !== undefined && { serverName }),
    ...(token !== undefined && { token }),
    ...(username !== undefined && { basic: { username, password: textOf(user, 'password') ?? '' } }),
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
  };
}

function parse(text: string): unknown {
  try {
    return load(text, { maxAliases });
  } catch {
    // The parser's message quotes the text, which contains credentials.
    throw invalid(
      'is not YAML that Davit can parse',
      'Store the file as `kubectl config view --raw --minify --flatten` prints it.',
    );
  }
}

function currentContext(config: Fields): { readonly cluster: string; readonly user: string } {
  const contexts = listOf(config, 'contexts');
  const wanted = textOf(config, 'current-context');
  const entry = wanted === undefined && contexts.length === 1 ? contexts[0] : contexts.find(({ name }) => name === wanted);
  if (entry === undefined) {
    const names = contexts
      .flatMap(({ name }) => (typeof name === 'string' ? [shown(name)] : []))
      .slice(0, maxNames)
      .join(', ');
    throw invalid(
      wanted === undefined ? 'has no current-context' : `has no context ${shown(wanted)}`,
      `Set current-context to one of its contexts${names === '' ? '; it has none' : `: ${names}`}.`,
    );
  }
  const context = fieldsOf(entry['context']);
  return { cluster: textOf(context, 'cluster') ?? '', user: textOf(context, 'user') ?? '' };
}

function listOf(config: Fields, list: string): readonly Fields[] {
  const entries = config[list];
  return Array.isArray(entries) ? entries.map(fieldsOf) : [];
}

function named(config: Fields, list: string, kind: string, name: string): Fields {
  const entry = listOf(config, list).find((one) => one['name'] === name);
  if (entry === undefined) {
    throw invalid(`has no ${kind} ${shown(name)}`, `Its context names the ${kind} ${shown(name)}; add it to ${list}.`);
  }
  return fieldsOf(entry[kind]);
}

function refuseForeign(fields: Fields, names: readonly string[], kind: string): void {
  const found = names.find((name) => fields[name] !== undefined);
  if (found === undefined) return;
  throw invalid(
    `has ${kind}.${found}, which needs a program, a file or another host of this machine, or acts as somebody else`,
    'Use the token of a service account, or client-certificate-data and client-key-data; `kubectl config view --raw --minify --flatten` puts files into the text. docs/kubernetes.md explains how to create a service account.',
  );
}

function serverOf(cluster: Fields): string {
  const server = textOf(cluster, 'server') ?? '';
  const url = URL.canParse(server) ? new URL(server) : null;
  if (url?.protocol !== 'https:') {
    throw invalid('has a server that is not an https:// address', 'Credentials are sent to it: it must be reached over TLS.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalid(
      'has a server with a user, a query or a fragment',
      'Its address ends with its path; credentials go into users.',
    );
  }
  return server.replace(/\/+$/, '');
}

function tokenOf(user: Fields): string | undefined {
  const token = textOf(user, 'token');
  // The token is sent as part of a header.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw invalid(
      'has a token with a line break, a space or another character that tokens do not have',
      'Copy it as it is, on one line.',
    );
  }
  return token;
}

/** Refuses certificates and keys that TLS cannot use. Otherwise the cluster would look unreachable. */
function refuseUnusable({ authority, certificate, key }: Pick<ClusterAccess, 'authority' | 'certificate' | 'key'>): void {
  try {
    createSecureContext({
      ...(authority !== undefined && { ca: authority }),
      ...(certificate !== undefined && { cert: certificate, key }),
    });
  } catch (error) {
    const words = error instanceof Error ? error.message.replace(/^error:[0-9A-F]+:[^:]*::?/i, '') : String(error);
    throw invalid(
      `has certificates or a key that cannot be used (${words})`,
      'Copy certificate-authority-data, client-certificate-data and client-key-data as they are; the key belongs to the certificate, and has no passphrase.',
    );
  }
}

function shown(name: string): string {
  return name.length > longestName ? `${name.slice(0, longestName)}…` : name;
}

function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function pem(fields: Fields, name: string): string | undefined {
  const text = textOf(fields, name);
  if (text === undefined) return undefined;
  const decoded = Buffer.from(text, 'base64').toString('utf8');
  if (!decoded.includes('-----BEGIN ')) throw invalid(`has a ${name} that is not PEM in base64`, 'Copy it as it is.');
  return decoded;
}

function invalid(what: string, hint: string): DriverError {
  return new DriverError({ cause: 'CLUSTER_ACCESS_INVALID', message: `The kubeconfig of the cluster ${what}.`, hint });
}
