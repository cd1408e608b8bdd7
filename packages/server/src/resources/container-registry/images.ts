import { AppError } from '@davit/base';
import type { ContainerRegistryKind, operations, Query, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { HostCredentials } from '@davit/engine/port';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { remoteSettings } from '../../remote/get.ts';
import { RegistryClient, type RegistryAccess } from '../../remote/registry-client.ts';
import { isVendorRegistry, keyUsers, type VendorRegistries, type VendorRegistry } from '../../vendors.ts';
import type { Vault } from '../../secrets/vault.ts';
import { openedCredentials, type Credentials } from '../shared/credentials.ts';
import { invalid, invalidReference } from '../shared/problems.ts';
import { pathValues, type RegistryIds } from './container-registry.ts';
import * as store from './store.ts';

type Versions = Response<(typeof operations)['getContainerVersions']>;
type ImageQuery = Query<(typeof operations)['getContainerVersions']>;

/**
 * Queries the registry itself. With `imageName` it returns the tags of that image (highest version first), otherwise
 * the names of all images. For an unknown image the result is empty. Fails with REMOTE_UNREACHABLE, REMOTE_REFUSED,
 * REMOTE_NOT_UNDERSTOOD or NOT_SUPPORTED.
 */
export async function listImages(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  caller: Caller,
  ids: RegistryIds,
  query: ImageQuery,
): Promise<Versions> {
  const row = await deps.database.maybe(store.containerRegistryOpen, pathValues(caller, ids));
  if (row === undefined) throw notFound('container registry');
  const { imageName } = query;
  if (imageName !== undefined && !isImageName(imageName)) {
    throw invalid(
      'imageName',
      'must be the name of an image without registry and tag, as in team/web: small letters, digits, . _ - /',
    );
  }
  const { client, url, vendor } = clientOf(deps, row, registrySignIn(row.kind, openedCredentials(deps.vault, row.id, row)));
  if (imageName === undefined) return { results: await namesOf(client, folderOf(url), query.search ?? '') };
  const tags = await client.tags(repositoryName(url, imageName, vendor));
  return { results: tags === null ? [] : [{ image_name: imageName, versions: highestFirst(tags) }] };
}

function clientOf(
  { config }: Needs<never, 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  { kind, url: text }: { readonly kind: ContainerRegistryKind; readonly url: string },
  credentials: RegistryAccess['credentials'],
): { readonly client: RegistryClient; readonly url: URL; readonly vendor: VendorRegistry | undefined } {
  const vendor = vendorOf(kind, config.vendorRegistries);
  const url = new URL(text);
  const api = new URL(vendor === undefined ? url.origin : (vendor.api ?? vendor.url));
  return { client: new RegistryClient({ api, credentials, settings: remoteSettings(config) }), url, vendor };
}

/**
 * An image as its service names it. If `registryId` is null, the image is in the public registry of kind HUBA_CR and is
 * read anonymously.
 */
export interface NamedImage {
  readonly registryId: string | null;
  readonly imageName: string;
  /** A tag or a digest. */
  readonly tag: string;
}

/**
 * Returns the platforms for which a registry has an image. Null if the registry does not have the image. Fails with
 * INVALID_REFERENCE if the organization has no such registry, or with REMOTE_UNREACHABLE, REMOTE_REFUSED,
 * REMOTE_NOT_UNDERSTOOD or NOT_SUPPORTED.
 */
export async function imagePlatforms(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  organizationId: string,
  { registryId, imageName, tag }: NamedImage,
): Promise<readonly string[] | null> {
  if (registryId === null) {
    const kind = 'HUBA_CR';
    const open = clientOf(deps, { kind, url: deps.config.vendorRegistries[kind].url }, null);
    return open.client.platforms(repositoryName(open.url, imageName, open.vendor), tag);
  }
  const row = await deps.database.maybe(store.containerRegistryOpen, [organizationId, organizationId, registryId]);
  if (row === undefined) throw invalidReference('registry_id', 'is not the id of a container registry of this organization');
  const { client, url, vendor } = clientOf(deps, row, registrySignIn(row.kind, openedCredentials(deps.vault, row.id, row)));
  return client.platforms(repositoryName(url, imageName, vendor), tag);
}

/**
 * Returns the digest that a tag refers to now. Null if the registry does not have the image or does not show it. `name`
 * is the full name, such as `registry.example.org/team/web`. If `registryId` is null, or its host is no longer the one
 * of the name, the registry is queried anonymously. Fails with REMOTE_UNREACHABLE, REMOTE_REFUSED,
 * REMOTE_NOT_UNDERSTOOD or NOT_SUPPORTED.
 */
export async function imageDigest(
  { database, vault, config }: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  registryId: string | null,
  { name, tag }: { readonly name: string; readonly tag: string },
): Promise<string | null> {
  const [host = '', ...rest] = name.split('/');
  const stored = registryId === null ? undefined : await database.maybe(store.containerRegistrySealed, [registryId]);
  const row = stored !== undefined && new URL(stored.url).host === host ? stored : undefined;
  const vendors = Object.values(config.vendorRegistries);
  const known = vendors.find(({ url }) => new URL(url).host === host);
  const url = row?.url ?? known?.url ?? `https://${host}`;
  const credentials =
    row === undefined || registryId === null ? null : registrySignIn(row.kind, openedCredentials(vault, registryId, row));
  const api = new URL(known === undefined ? new URL(url).origin : (known.api ?? known.url));
  return new RegistryClient({ api, credentials, settings: remoteSettings(config) }).digest(rest.join('/'), tag);
}

/** Returns the full name of an image of a registry. Undefined if there is no such registry. */
export async function imageName(database: Queryable, registryId: string, name: string): Promise<string | undefined> {
  const row = await database.maybe(store.containerRegistrySealed, [registryId]);
  return row === undefined ? undefined : wholeImageName(row, name);
}

/** Returns whether the registry is contacted over plain HTTP, which operators can allow. */
export async function isPlainRegistry(database: Queryable, registryId: string): Promise<boolean> {
  const row = await database.maybe(store.containerRegistrySealed, [registryId]);
  return row !== undefined && new URL(row.url).protocol === 'http:';
}

/** Returns the full name of an image, such as `registry.example.org:5000/folder/team/web`. */
export function wholeImageName(registry: { readonly url: string }, name: string): string {
  const { host, pathname } = new URL(registry.url);
  return [host, ...pathname.split('/'), name].filter((part) => part !== '').join('/');
}

/**
 * Returns the name of the image in the API of the registry: below the path of the URL, and for a name without a
 * namespace below the default namespace of the vendor.
 */
export function repositoryName(url: URL, imageName: string, vendor?: VendorRegistry): string {
  const namespace = vendor?.namespace !== undefined && !imageName.includes('/') ? `${vendor.namespace}/` : '';
  return `${folderOf(url)}${namespace}${imageName}`;
}

/** Returns the path of the URL as a prefix of a name: empty, or with a slash at its end. */
function folderOf(url: URL): string {
  const folder = url.pathname.replace(/^\/+|\/+$/g, '');
  return folder === '' ? '' : `${folder}/`;
}

// Registries return tags in any order, often that of their files.
const byNumbers = new Intl.Collator('en', { numeric: true });

function highestFirst(tags: readonly string[]): string[] {
  return tags.toSorted((a, b) => byNumbers.compare(b, a));
}

async function namesOf(client: RegistryClient, prefix: string, search: string): Promise<Versions['results']> {
  const names = await client.images();
  if (names === null) {
    const message = 'This registry does not list its images. Set the query parameter imageName to get the tags of one image.';
    throw new AppError({ code: 'NOT_SUPPORTED', message });
  }
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((name) => name.includes(search.toLowerCase()))
    .map((name) => ({ image_name: name }));
}

/**
 * Returns the credentials of a registry for an engine, and the host that they may be sent to. Null: the registry needs
 * none. Undefined: there is no such registry. Fails with NOT_SUPPORTED.
 */
export async function registryCredentials(
  database: Queryable,
  vault: Vault,
  id: string,
): Promise<HostCredentials | null | undefined> {
  const row = await database.maybe(store.containerRegistrySealed, [id]);
  if (row === undefined) return undefined;
  const signIn = registrySignIn(row.kind, openedCredentials(vault, id, row));
  return signIn === null ? null : { ...signIn, hosts: [new URL(row.url).host] };
}

/**
 * Returns the user name and password for a registry of this kind. Null: the registry needs none. Fails with
 * NOT_SUPPORTED.
 */
export function registrySignIn(
  kind: ContainerRegistryKind,
  credentials: Credentials,
): { readonly username: string; readonly password: string } | null {
  if (kind === 'ECR') {
    const message = 'Davit cannot authenticate at registries of kind ECR yet: their passwords come from another API.';
    throw new AppError({ code: 'NOT_SUPPORTED', message });
  }
  const password = credentials.password ?? credentials.vendora_secret_key ?? credentials.json_credentials;
  const username = credentials.username ?? keyUsers[kind];
  return username === undefined || password === undefined ? null : { username, password };
}

function vendorOf(kind: ContainerRegistryKind, vendors: VendorRegistries): VendorRegistry | undefined {
  return isVendorRegistry(kind) ? vendors[kind] : undefined;
}

/** Implements the grammar of repository names in the OCI Distribution Specification 1.1. */
function isImageName(name: string): boolean {
  return /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/.test(name);
}
