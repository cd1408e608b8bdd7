import type { GitProvider } from '@davit/contract';
import { get, notUnderstood, refused, send, type RemoteAnswer, type RemoteSettings } from '../../../remote/get.ts';
import { list, numberText, partOf, text, type Part } from './payload.ts';

/*
 * Lists and writes the webhooks of a repository at its git host, through the HTTP API of the host.
 */

/** A repository at a git host. */
export interface HostedRepository {
  readonly provider: Exclude<GitProvider, 'GENERIC'>;
  /** Base URL of the API, such as `https://api.example.org`. */
  readonly api: string;
  readonly token: string;
  /** `owner/name`. */
  readonly path: string;
}

export interface Hook {
  readonly id: string;
  readonly url: string;
  readonly isActive: boolean;
  /** Event names of the host. */
  readonly events: readonly string[];
}

export interface WantedHook {
  readonly url: string;
  readonly secret: string;
  readonly events: readonly string[];
}

interface Host {
  hooks(path: string): string;
  read(answer: unknown): readonly Hook[];
  body(wanted: WantedHook): object;
  readonly edit: 'PATCH' | 'PUT';
}

const hosts: Readonly<Record<HostedRepository['provider'], Host>> = {
  HOSTA: {
    hooks: (path) => `/repos/${path.split('/').map(encodeURIComponent).join('/')}/hooks`,
    read: (answer) => list(answer).map((one) => readHookA(partOf(one))),
    body: ({ url, secret, events }) => ({
      name: 'web',
      active: true,
      events,
      config: { url, content_type: 'json', secret, insecure_ssl: '0' },
    }),
    edit: 'PATCH',
  },
  HOSTB: {
    hooks: (path) => `/projects/${encodeURIComponent(path)}/hooks`,
    read: (answer) => list(answer).map((one) => readHookB(partOf(one))),
    body: ({ url, secret, events }) => ({
      url,
      token: secret,
      enable_ssl_verification: true,
      ...Object.fromEntries(events.map((event) => [event, true])),
    }),
    edit: 'PUT',
  },
  HOSTC: {
    hooks: (path) => `/repositories/${path.split('/').map(encodeURIComponent).join('/')}/hooks`,
    read: (answer) => list(partOf(answer)['values']).map((one) => readHookC(partOf(one))),
    body: ({ url, secret, events }) => ({ description: 'Davit', url, active: true, secret, events }),
    edit: 'PUT',
  },
};

function readHookA(hook: Part): Hook {
  const events = list(hook['events']).map((one) => text(one));
  const url = text(partOf(hook, 'config')['url'], 2000);
  return { id: numberText(hook['id']), url, isActive: hook['active'] === true, events };
}

function readHookB(hook: Part): Hook {
  const events = Object.keys(hook).filter((name) => name.endsWith('_events') && hook[name] === true);
  return { id: numberText(hook['id']), url: text(hook['url'], 2000), isActive: hook['alert_status'] !== 'disabled', events };
}

function readHookC(hook: Part): Hook {
  const events = list(hook['events']).map((one) => text(one));
  return { id: text(hook['uuid']), url: text(hook['url'], 2000), isActive: hook['active'] === true, events };
}

const maxBytes = 2_000_000;

/**
 * Returns at most a hundred webhooks. Davit's webhook is among them unless the repository has very many. Fails with
 * REMOTE_UNREACHABLE, REMOTE_REFUSED or REMOTE_NOT_UNDERSTOOD.
 */
export async function listHooks(repository: HostedRepository, settings: RemoteSettings): Promise<readonly Hook[]> {
  const host = hosts[repository.provider];
  const size = repository.provider === 'HOSTC' ? 'pagelen' : 'per_page';
  const url = new URL(`${repository.api.replace(/\/+$/, '')}${host.hooks(repository.path)}?${size}=100`);
  const answer = await get({ url, ...common(repository) }, settings);
  return host.read(jsonOf(url, answer));
}

/** Creates the webhook, or updates the one with this id. Fails like `listHooks`. */
export async function writeHook(
  repository: HostedRepository,
  { id, wanted }: { readonly id: string | null; readonly wanted: WantedHook },
  settings: RemoteSettings,
): Promise<void> {
  const host = hosts[repository.provider];
  const end = id === null ? '' : `/${encodeURIComponent(id)}`;
  const url = new URL(`${repository.api.replace(/\/+$/, '')}${host.hooks(repository.path)}${end}`);
  const change = { method: id === null ? ('POST' as const) : host.edit, body: JSON.stringify(host.body(wanted)) };
  jsonOf(url, await send({ url, ...common(repository), change }, settings));
}

function common({ token }: HostedRepository) {
  return { accept: 'application/json', authorization: `Bearer ${token}`, maximumBytes: maxBytes };
}

function jsonOf(url: URL, { status, body }: RemoteAnswer): unknown {
  if (status >= 400 && status < 500) {
    throw refused(url, `it answered ${status}; the git token must be allowed to manage the webhooks of the repository`);
  }
  if (status < 200 || status >= 300) throw notUnderstood(url, `it answered ${status}`);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw notUnderstood(url, 'it is no JSON', error);
  }
}
