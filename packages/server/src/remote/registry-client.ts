import { createHash } from 'node:crypto';
import { get, notUnderstood, refused, type RemoteAnswer, type RemoteSettings } from './get.ts';

/*
 * Reads a container registry through the HTTP API V2 (OCI Distribution Specification 1.1, "Content Discovery").
 * Supports both ways to sign in: Basic, and tokens of the "Token Authentication Specification" of the distribution
 * project.
 */

export interface RegistryAccess {
  /** Origin of the API, without `/v2/`. */
  readonly api: URL;
  /** null: anonymous. */
  readonly credentials: { readonly username: string; readonly password: string } | null;
  readonly settings: RemoteSettings;
}

const maximumBytes = 8 * 1024 * 1024;
const pageSize = 1000;
const json = 'application/json';
const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/**
 * The platforms of an image in the registry's spelling, such as `linux/amd64`; empty if the image does not state any.
 */
export type Platforms = readonly string[];

/** Most pages that are read. Users with more tags must query the registry themselves. */
const maxPages = 20;

export class RegistryClient {
  readonly #access: RegistryAccess;
  #authorization: string | undefined;

  constructor(access: RegistryAccess) {
    this.#access = access;
  }

  /** Returns the tags of an image, unordered; null if there is no such image. `name` includes the namespace. */
  async tags(name: string): Promise<readonly string[] | null> {
    const what = `image ${name}`;
    const url = new URL(`/v2/${name}/tags/list?n=${pageSize}`, this.#access.api);
    return this.#pages(url, { what, scope: `repository:${name}:pull`, member: 'tags' });
  }

  /** Returns the names of all images; null if the registry does not list them. */
  async images(): Promise<readonly string[] | null> {
    const url = new URL(`/v2/_catalog?n=${pageSize}`, this.#access.api);
    return this.#pages(url, {
      what: 'the list of its images (which public registries do not offer; name an image to get its tags)',
      scope: 'registry:catalog:*',
      member: 'repositories',
    });
  }

  /**
   * Returns the platforms of the images with this tag or digest; null if there is none. `name` includes the namespace.
   */
  async platforms(name: string, reference: string): Promise<Platforms | null> {
    const what = `image ${name}`;
    const scope = `repository:${name}:pull`;
    const url = new URL(`/v2/${name}/manifests/${reference}`, this.#access.api);
    const answer = await this.#read(url, scope, manifestTypes);
    if (answer.status === 404) return null;
    const { manifests, config } = manifestOf(answer, what);
    if (manifests !== undefined) return manifests.flatMap(({ platform }) => (platform === undefined ? [] : [wordOf(platform)]));
    if (config === undefined) return [];
    const blob = await this.#read(new URL(`/v2/${name}/blobs/${config.digest}`, this.#access.api), scope);
    return blob.status === 200 ? [wordOf(recordOf(parsed(blob)))] : [];
  }

  /** Returns the current digest of a tag; null if there is no such image. `name` includes the namespace. */
  async digest(name: string, tag: string): Promise<string | null> {
    const url = new URL(`/v2/${name}/manifests/${tag}`, this.#access.api);
    const answer = await this.#read(url, `repository:${name}:pull`, manifestTypes);
    if (answer.status === 404) return null;
    const what = `image ${name}`;
    manifestOf(answer, what);
    // The registry's digest header is optional; the digest is computed from the body.
    return `sha256:${createHash('sha256').update(answer.body).digest('hex')}`;
  }

  /**
   * Returns the layer with that media type of a tag or digest; null if there is no such tag, digest or layer. `name`
   * includes the namespace.
   */
  async layer(name: string, reference: string, mediaType: string): Promise<Buffer | null> {
    const what = `chart ${name}`;
    const scope = `repository:${name}:pull`;
    const url = new URL(`/v2/${name}/manifests/${reference}`, this.#access.api);
    const answer = await this.#read(url, scope, manifestTypes);
    if (answer.status === 404) return null;
    const digest = layerOf(answer, { what, mediaType });
    if (digest === null) return null;
    const blob = await this.#read(new URL(`/v2/${name}/blobs/${digest}`, this.#access.api), scope, mediaType);
    if (blob.status !== 200) throw notUnderstood(url, `it did not return the content of ${what}: it answered ${blob.status}`);
    return blob.body;
  }

  async #pages(first: URL, list: { what: string; scope: string; member: string }): Promise<readonly string[] | null> {
    const found: string[] = [];
    let url: URL | null = first;
    for (let page = 0; url !== null && page < maxPages; page += 1) {
      const answer = await this.#read(url, list.scope);
      if (answer.status === 404) return null;
      found.push(...namesOf(answer, list));
      url = nextPage(answer);
    }
    return found;
  }

  async #read(url: URL, scope: string, accept = json): Promise<RemoteAnswer> {
    const answer = await this.#get(url, this.#authorization, accept);
    if (answer.status !== 401) return answer;
    this.#authorization = await this.#signIn(url, answer.headers['www-authenticate'] ?? '', scope);
    return this.#authorization === undefined ? answer : this.#get(url, this.#authorization, accept);
  }

  #get(url: URL, authorization: string | undefined, accept = json): Promise<RemoteAnswer> {
    return get({ url, accept, authorization, maximumBytes }, this.#access.settings);
  }

  /** Returns the Authorization header for this challenge; undefined if no header would help. */
  async #signIn(url: URL, challenge: string, scope: string): Promise<string | undefined> {
    const { credentials } = this.#access;
    const basic =
      credentials === null
        ? undefined
        : `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`, 'utf8').toString('base64')}`;
    if (!/\bBearer\s/i.test(challenge)) return basic;
    const parameters = challengeParameters(challenge);
    const realm = parameters.get('realm') ?? '';
    if (!URL.canParse(realm)) throw notUnderstood(url, 'it requires a token but does not say where to get one');
    const location = new URL(realm);
    if (location.protocol !== 'https:' && url.protocol === 'https:') {
      throw notUnderstood(url, 'it wants the credentials sent to an address without TLS');
    }
    const service = parameters.get('service');
    if (service !== undefined) location.searchParams.set('service', service);
    location.searchParams.set('scope', parameters.get('scope') ?? scope);
    const answer = await this.#get(location, basic);
    if (answer.status === 401 || answer.status === 403) throw refused(location, 'the credentials in config are wrong');
    if (answer.status !== 200) throw notUnderstood(location, `it answered ${answer.status} to a request for a token`);
    const token = tokenOf(parsed(answer));
    if (token === null) throw notUnderstood(location, 'it returned no token');
    return `Bearer ${token}`;
  }
}

function challengeParameters(challenge: string): ReadonlyMap<string, string> {
  const found = challenge.matchAll(/([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"/g);
  return new Map(Array.from(found, ([, name = '', value = '']) => [name.toLowerCase(), value.replace(/\\(.)/g, '$1')]));
}

function assertGood(answer: RemoteAnswer, what: string): void {
  if (answer.status === 401 || answer.status === 403) {
    throw refused(answer.url, `${what} does not exist there, or the credentials in config do not permit reading it`);
  }
  if (answer.status === 429) throw refused(answer.url, 'its rate limit was reached; try again later');
  if (answer.status !== 200) throw notUnderstood(answer.url, `it answered ${answer.status} to a request for ${what}`);
}

interface Platform {
  readonly os?: unknown;
  readonly architecture?: unknown;
}

/** Returns the needed fields of a manifest, or of an index of manifests. */
function manifestOf(
  answer: RemoteAnswer,
  what: string,
): { readonly manifests?: readonly { readonly platform?: Platform }[]; readonly config?: { readonly digest: string } } {
  assertGood(answer, what);
  const { manifests, config } = recordOf(parsed(answer));
  if (Array.isArray(manifests)) {
    return { manifests: manifests.map((one: unknown) => ({ platform: recordOf(recordOf(one)['platform']) })) };
  }
  const { digest } = recordOf(config);
  return typeof digest === 'string' && digestForm.test(digest) ? { config: { digest } } : {};
}

const digestForm = /^sha256:[0-9a-f]{64}$/;

/** Returns the digest of the layer with that media type. */
function layerOf(answer: RemoteAnswer, { what, mediaType }: { what: string; mediaType: string }): string | null {
  assertGood(answer, what);
  const { layers } = recordOf(parsed(answer));
  const found = Array.isArray(layers) ? layers.map(recordOf).find((layer) => layer['mediaType'] === mediaType) : undefined;
  const digest = found?.['digest'];
  return typeof digest === 'string' && digestForm.test(digest) ? digest : null;
}

function wordOf({ os, architecture }: Platform): string {
  return `${String(os)}/${String(architecture)}`;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function namesOf(answer: RemoteAnswer, { what, member }: { readonly what: string; readonly member: string }): string[] {
  assertGood(answer, what);
  const body = parsed(answer);
  const names: unknown = isRecord(body) ? body[member] : undefined;
  // A registry returns null for an image whose last tag was deleted.
  if (names === null) return [];
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw notUnderstood(answer.url, 'it does not support the HTTP API V2 of container registries');
  }
  return names;
}

/** Returns the URL of the next page, within the same origin only, because it is requested with the same credentials. */
function nextPage({ headers, url }: RemoteAnswer): URL | null {
  const link = [headers['link'] ?? ''].flat().join(',');
  const target = /<([^>]*)>\s*;\s*rel="?next"?/i.exec(link)?.[1];
  if (target === undefined || !URL.canParse(target, url.href)) return null;
  const next = new URL(target, url.href);
  return next.origin === url.origin ? next : null;
}

function parsed(answer: RemoteAnswer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch (error) {
    throw notUnderstood(answer.url, 'it is not JSON', error);
  }
}

function tokenOf(body: unknown): string | null {
  if (!isRecord(body)) return null;
  const token = body['token'] ?? body['access_token'];
  // The token becomes a header value, so other characters are rejected.
  return typeof token === 'string' && /^[\x21-\x7e]+$/.test(token) ? token : null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
