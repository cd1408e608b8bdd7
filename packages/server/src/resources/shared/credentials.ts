import type { Vault } from '../../secrets/vault.ts';
import { hasControlCharacter, type Problems } from './problems.ts';

/** Members of `config` that registries and repositories know. */
export type Member =
  | 'access_key_id'
  | 'secret_access_key'
  | 'region'
  | 'vendora_access_key'
  | 'vendora_secret_key'
  | 'vendora_project_id'
  | 'json_credentials'
  | 'username'
  | 'password'
  | 'role_arn'
  | 'vendorb_tenant_id'
  | 'vendorb_subscription_id';

export type ConfigRequest = { readonly [M in Member]?: string | null };
export type Credentials = { readonly [M in Member]?: string };

/** Which members a kind has; of the others nothing is kept. */
export interface CredentialRules {
  readonly required: readonly Member[];
  readonly optional: readonly Member[];
}

const secretMembers: ReadonlySet<string> = new Set<Member>([
  'secret_access_key',
  'vendora_secret_key',
  'json_credentials',
  'password',
]);

export const noCredentials: CredentialRules = { required: [], optional: [] };
export const userAndPassword: CredentialRules = { required: [], optional: ['username', 'password'] };

/**
 * The credentials after a request. What it leaves out or sends empty (forms do, which never saw the secret) stays as in `former`,
 * null takes it away. What is missing is added to `problems`.
 */
export function toCredentials(
  request: ConfigRequest,
  former: Credentials,
  { required, optional }: CredentialRules,
  problems: Problems,
): Credentials {
  const kept: { [M in Member]?: string } = {};
  for (const member of [...required, ...optional]) {
    const value = request[member] === undefined || request[member] === '' ? former[member] : request[member];
    if (value !== undefined && value !== null) kept[member] = value;
    else if (required.includes(member)) problems.add(`config.${member}`, 'is required for this kind');
  }
  // It is sent as `<username>:<password>` in a header.
  if (kept.username !== undefined && (hasControlCharacter(kept.username) || kept.username.includes(':'))) {
    problems.add('config.username', 'must not contain a colon or control characters');
  }
  if (kept.username !== undefined && kept.password === undefined)
    problems.add('config.password', 'is required with config.username');
  if (kept.password !== undefined && kept.username === undefined)
    problems.add('config.username', 'is required with config.password');
  return kept;
}

/** The same as a client may read it in the answer of `listAvailable…`. */
export function requiredConfig({ required }: CredentialRules): Record<string, string> {
  return Object.fromEntries(required.map((member) => [member, 'string']));
}

/** As stored: what answers show, and what they do not. */
export interface StoredCredentials {
  readonly config: Credentials;
  readonly sealed: Uint8Array | null;
}

export function storedCredentials(vault: Vault, id: string, credentials: Credentials): StoredCredentials {
  const isSecret = ([member]: readonly [string, unknown]): boolean => secretMembers.has(member);
  const entries = Object.entries(credentials);
  const secrets = Object.fromEntries(entries.filter(isSecret));
  return {
    config: Object.fromEntries(entries.filter((entry) => !isSecret(entry))),
    sealed: Object.keys(secrets).length === 0 ? null : vault.seal(id, JSON.stringify(secrets)),
  };
}

export function openedCredentials(vault: Vault, id: string, { config, sealed }: StoredCredentials): Credentials {
  if (sealed === null) return config;
  const secrets: Credentials = JSON.parse(vault.open(id, sealed));
  return { ...config, ...secrets };
}

/** Adds to `problems` what is wrong with the URL of a registry or repository; `schemes` as in `https:`. Not quoted: it may hold a password. */
export function checkPlace(url: string, schemes: readonly string[], problems: Problems): void {
  const [scheme = 'https:'] = schemes;
  const example = `${scheme}//registry.example.org`;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !schemes.includes(parsed.protocol) || !/^[a-z]+:\/\/[^/?#\\\s]+[^\s\\]*$/i.test(url)) {
    problems.add('url', `must start with ${scheme}// and name a host, as in ${example}`);
  } else if (parsed.username !== '' || parsed.password !== '' || url.includes('@')) {
    problems.add('url', 'must not contain credentials; they belong into config');
  } else if (url.includes('?') || url.includes('#')) {
    problems.add('url', `must have no query and no fragment, as in ${example}`);
  }
}
