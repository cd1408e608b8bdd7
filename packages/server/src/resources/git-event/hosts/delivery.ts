import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { GitEvent } from '../event.ts';
import { readHostA } from './hosta.ts';
import { readHostB } from './hostb.ts';
import { readHostC } from './hostc.ts';
import { list, partOf, text } from './payload.ts';

/** The request of a git host as it was received. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

function header({ headers }: Delivery, ...names: readonly string[]): string {
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return '';
}

/** Returns whether the sender knows the secret. The check takes the same time for wrong and right signatures. */
export function isSigned(delivery: Delivery, secret: string): boolean {
  const token = header(delivery, 'x-gitlab-token');
  if (token !== '') return isEqual(token, secret);
  const signature = header(delivery, 'x-hub-signature-256', 'x-hub-signature', 'x-gitea-signature', 'x-gogs-signature');
  const expected = createHmac('sha256', secret).update(delivery.body).digest('hex');
  return isEqual(signature.replace(/^sha256=/, '').toLowerCase(), expected);
}

function isEqual(one: string, other: string): boolean {
  // Hashes have equal lengths, which the comparison requires, whatever the host sent.
  const digest = (value: string): Buffer => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/**
 * Returns the host's id of the delivery, which is the same if the host repeats it. Without an id, it is derived from
 * the content.
 */
export function deliveryName(delivery: Delivery): string {
  const names = ['x-github-delivery', 'x-gitea-delivery', 'x-gogs-delivery', 'idempotency-key', 'x-gitlab-event-uuid'];
  const name = header(delivery, ...names, 'x-request-uuid');
  const usable = /^[\x21-\x7e]{1,200}$/.test(name) ? name : '';
  return usable || `sha256 ${createHash('sha256').update(delivery.body).digest('hex')}`;
}

/** Parses the payload as JSON. Undefined if it is not JSON. Some hosts wrap the JSON in a form. */
export function payloadOf(delivery: Delivery): unknown {
  const body = delivery.body.toString('utf8');
  const isForm = header(delivery, 'content-type').startsWith('application/x-www-form-urlencoded');
  try {
    const payload: unknown = JSON.parse(isForm ? (new URLSearchParams(body).get('payload') ?? '') : body);
    return typeof payload === 'object' && payload !== null ? payload : undefined;
  } catch {
    // The signed body is not JSON. The ledger reports this.
    return undefined;
  }
}

/** Returns the events in a signed payload. */
export function readDelivery(delivery: Delivery, payload: unknown): readonly GitEvent[] {
  if (header(delivery, 'x-gitlab-event') !== '') return readHostB(payload);
  const key = header(delivery, 'x-event-key');
  if (key !== '') return readHostC(key, payload);
  const name = header(delivery, 'x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gogs-event') || 'push';
  return readHostA(text(name), payload);
}

/**
 * Returns `owner/name` in lower case of the repository that a payload concerns, for each of its URLs. Empty if the
 * payload does not name a repository.
 */
export function repositoryPaths(payload: unknown): ReadonlySet<string> {
  const repository = partOf(payload, 'repository');
  const project = partOf(payload, 'project');
  const names = [repository['full_name'], project['path_with_namespace']];
  const urls = [repository['clone_url'], repository['ssh_url'], project['git_http_url'], project['git_ssh_url']];
  const paths = [...names.map((name) => text(name, 2000)), ...list(urls).map((url) => pathOfUrl(text(url, 2000)))];
  return new Set(paths.map((path) => path.toLowerCase()).filter((path) => path !== ''));
}

/**
 * Returns `owner/name` for `git@host:owner/name.git`, `ssh://git@host:22/owner/name` and `https://host/owner/name.git`.
 */
function pathOfUrl(url: string): string {
  const path = /^[a-z+]+:\/\/[^/]*\/(.*)$/i.exec(url)?.[1] ?? /^[^/:]+:(?!\/\/)(.*)$/.exec(url)?.[1] ?? '';
  return path.replace(/(\.git)?\/*$/, '').replace(/^\/+/, '');
}
