import { hasControlCharacter } from '@davit/base';
import type { Vault } from '../../secrets/vault.ts';
import { type Problems } from './problems.ts';

/** The members of `config` that registries and repositories have. */
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

/** The members that a kind of registry or repository has. Other members are not stored. */
export interface CredentialRules {
  readonly required: readonly Member[];
  readonly optional: readonly Member[];
}

const secretMembers: ReadonlySet<Member> = new Set(['secret_access_key', 'vendora_secret_key', 'json_credentials', 'password']);

export const noCredentials: CredentialRules = { required: [], optional: [] };
export const userAndPassword: CredentialRules = { required: [], optional: ['username', 'password'] };

/**
 * Returns the credentials after a request. Omitted or empty members stay as in `former`, as forms send a secret empty
 * that they never received. null removes a member. Adds missing members to `problems`.
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
  // The username is sent as `<username>:<password>` in a header.
  if (kept.username !== undefined && (hasControlCharacter(kept.username) || kept.username.includes(':'))) {
    problems.add('config.username', 'must not contain a colon or control characters');
  }
  if (kept.username !== undefined && kept.password === undefined)
    problems.add('config.password', 'is required with config.username');
  if (kept.password !== undefined && kept.username === undefined)
    problems.add('config.username', 'is required with config.password');
  return kept;
}

/** Adds a problem for each stored secret that a request keeps, where the secret must be given again. */
export function refuseKeptSecrets(request: ConfigRequest, former: Credentials, why: string, problems: Problems): void {
  for (const member of secretMembers) {
    if (former[member] === undefined) continue;
    const isKept = request[member] === undefined || request[member] === '';
    if (isKept) problems.add(`config.${member}`, `must be given again (or null, for none), as ${why}`);
  }
}

/** Returns the required members for the response of `listAvailable…`. */
export function requiredConfig({ required }: CredentialRules): Record<string, string> {
  return Object.fromEntries(required.map((member) => [member, 'string']));
}

/** Credentials as stored: the members that responses show, and those that they hide. */
export interface StoredCredentials {
  readonly config: Credentials;
  readonly sealed: Uint8Array | null;
}

export function storedCredentials(vault: Vault, id: string, credentials: Credentials): StoredCredentials {
  const isSecret = ([member]: readonly [string, unknown]): boolean => [...secretMembers].some((secret) => secret === member);
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

/**
 * Adds errors in the URL of a registry or repository to `problems`. `schemes` have the form `https:`. Messages do not
 * quote the URL, which may contain a password.
 */
export function checkIds(url: string, schemes: readonly string[], problems: Problems): void {
  const [scheme = 'https:'] = schemes;
  const example = `${scheme}//registry.example.org`;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !schemes.includes(parsed.protocol) || !/^[a-z]+:\/\/[^/?#\\\s]+[^\s\\]*$/i.test(url)) {
    problems.add('url', `must start with ${scheme}// and name a host, as in ${example}`);
  } else if (parsed.username !== '' || parsed.password !== '' || url.includes('@')) {
    problems.add('url', 'must not contain credentials; put them into config');
  } else if (url.includes('?') || url.includes('#')) {
    problems.add('url', `must have no query and no fragment, as in ${example}`);
  }
}
