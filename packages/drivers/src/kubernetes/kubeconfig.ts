import { load } from 'js-yaml';
import { DriverError } from '../errors.ts';

/** How an API server is reached, and as whom. All of it is secret except `server`. */
export interface ClusterAccess {
  /** `https://host:port`, perhaps with a path, without a slash at its end. */
  readonly server: string;
  /** PEM. Absent: the authorities that Node.js trusts. */
  readonly authority?: string;
  /** The server's certificate is not checked. */
  readonly isUnchecked: boolean;
  /** The name that the server's certificate has, where it is not that of `server`. */
  readonly serverName?: string;
  readonly token?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  /** PEM. */
  readonly certificate?: string;
  readonly key?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};

/**
 * Reads a kubeconfig: its current context, or the only one it has. It is text of whoever manages the cluster, so nothing in it may
 * reach this machine: programs (`exec`, `auth-provider`) are not run and files are not read; a kubeconfig that needs them is refused
 * with what would be right. Fails with CLUSTER_ACCESS_INVALID. Pure.
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
  const serverName = textOf(cluster, 'tls-server-name');
  const token = textOf(user, 'token');
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
    return load(text);
  } catch {
    // The parser's words quote the text, which holds credentials.
    throw invalid('is no YAML', 'Store the file as `kubectl config view --raw --minify --flatten` prints it.');
  }
}

function currentContext(config: Fields): { readonly cluster: string; readonly user: string } {
  const contexts = listOf(config, 'contexts');
  const wanted = textOf(config, 'current-context');
  const entry = wanted === undefined && contexts.length === 1 ? contexts[0] : contexts.find(({ name }) => name === wanted);
  if (entry === undefined) {
    const names = contexts.map(({ name }) => String(name)).join(', ');
    throw invalid(
      wanted === undefined ? 'has no current-context' : `has no context ${wanted}`,
      `Set current-context to one of its contexts${names === '' ? ', of which it has none' : `: ${names}`}.`,
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
  if (entry === undefined) throw invalid(`has no ${kind} ${name}`, `Its context names the ${kind} ${name}; add it to ${list}.`);
  return fieldsOf(entry[kind]);
}

function refuseForeign(fields: Fields, names: readonly string[], kind: string): void {
  const found = names.find((name) => fields[name] !== undefined);
  if (found === undefined) return;
  throw invalid(
    `has ${kind}.${found}, which needs a program, a file or another host of this machine, or acts as somebody else`,
    'Use the token of a service account, or client-certificate-data and client-key-data; `kubectl config view --raw --minify --flatten` puts files into the text. docs/kubernetes.md tells how to make a service account.',
  );
}

function serverOf(cluster: Fields): string {
  const server = textOf(cluster, 'server') ?? '';
  const url = URL.canParse(server) ? new URL(server) : null;
  if (url?.protocol !== 'https:') {
    throw invalid('has a server that is no https:// address', 'Credentials are sent to it: it must be reached over TLS.');
  }
  return server.replace(/\/+$/, '');
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
