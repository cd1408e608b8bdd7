import { AppError } from '@davit/base';
import type { ContainerRegistryKind, operations, Query, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { remoteSettings } from '../../remote/get.ts';
import { RegistryClient, type RegistryAccess } from '../../remote/registry-client.ts';
import { isVendorRegistry, keyUsers, type VendorRegistries, type VendorRegistry } from '../../vendors.ts';
import type { Vault } from '../../secrets/vault.ts';
import { openedCredentials, type Credentials } from '../shared/credentials.ts';
import { invalid } from '../shared/problems.ts';
import { placeValues, type Place } from './container-registry.ts';
import * as store from './store.ts';

type Versions = Response<(typeof operations)['getContainerVersions']>;
type ImageQuery = Query<(typeof operations)['getContainerVersions']>;

/**
 * Asks the registry itself: for the tags of `imageName` (highest version first), else for the names of its images. An image that
 * it does not have is no result. REMOTE_UNREACHABLE, REMOTE_REFUSED, REMOTE_NOT_UNDERSTOOD, NOT_SUPPORTED.
 */
export async function listImages(deps: Deps, caller: Caller, place: Place, query: ImageQuery): Promise<Versions> {
  const row = await deps.database.maybe(store.containerRegistryOpen, placeValues(caller, place));
  if (row === undefined) throw notFound('container registry');
  const { imageName } = query;
  if (imageName !== undefined && !isImageName(imageName)) {
    throw invalid(
      'imageName',
      'must be the name of an image without registry and tag, as in team/web: small letters, digits, . _ - /',
    );
  }
  const signIn = registrySignIn(row.kind, openedCredentials(deps.vault, row.id, row));
  const vendor = vendorOf(row.kind, deps.config.vendorRegistries);
  const url = new URL(row.url);
  const access: RegistryAccess = {
    api: new URL(vendor === undefined ? url.origin : (vendor.api ?? vendor.url)),
    credentials: signIn,
    settings: remoteSettings(deps.config),
  };
  const client = new RegistryClient(access);
  if (imageName === undefined) return { results: await namesOf(client, folderOf(url), query.search ?? '') };
  const tags = await client.tags(repositoryName(url, imageName, vendor));
  return { results: tags === null ? [] : [{ image_name: imageName, versions: highestFirst(tags) }] };
}

/** What the API of the registry calls the image: below the path of the url, and in the namespace of those without one. */
export function repositoryName(url: URL, imageName: string, vendor?: VendorRegistry): string {
  const namespace = vendor?.namespace !== undefined && !imageName.includes('/') ? `${vendor.namespace}/` : '';
  return `${folderOf(url)}${namespace}${imageName}`;
}

/** Path of the url as the begin of a name: empty, or with a slash at its end. */
function folderOf(url: URL): string {
  const folder = url.pathname.replace(/^\/+|\/+$/g, '');
  return folder === '' ? '' : `${folder}/`;
}

// Registries answer in any order, often the one of their files.
const byNumbers = new Intl.Collator('en', { numeric: true });

function highestFirst(tags: readonly string[]): string[] {
  return tags.toSorted((a, b) => byNumbers.compare(b, a));
}

async function namesOf(client: RegistryClient, prefix: string, search: string): Promise<Versions['results']> {
  const names = await client.images();
  if (names === null) {
    const message = 'This registry does not list its images. Name one with the query imageName to have its tags.';
    throw new AppError({ code: 'NOT_SUPPORTED', message });
  }
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((name) => name.includes(search.toLowerCase()))
    .map((name) => ({ image_name: name }));
}

/** What an engine identifies itself with; null: nothing; undefined: there is no such registry. NOT_SUPPORTED. */
export async function registryCredentials(
  database: Queryable,
  vault: Vault,
  id: string,
): Promise<{ readonly username: string; readonly password: string } | null | undefined> {
  const row = await database.maybe(store.containerRegistrySealed, [id]);
  return row === undefined ? undefined : registrySignIn(row.kind, openedCredentials(vault, id, row));
}

/** The user name and password that a registry of this kind takes; null: none. NOT_SUPPORTED. */
export function registrySignIn(
  kind: ContainerRegistryKind,
  credentials: Credentials,
): { readonly username: string; readonly password: string } | null {
  if (kind === 'ECR') {
    const message = 'Davit cannot identify itself at registries of kind ECR yet: their passwords are made by another API.';
    throw new AppError({ code: 'NOT_SUPPORTED', message });
  }
  const password = credentials.password ?? credentials.vendora_secret_key ?? credentials.json_credentials;
  const username = credentials.username ?? keyUsers[kind];
  return username === undefined || password === undefined ? null : { username, password };
}

function vendorOf(kind: ContainerRegistryKind, vendors: VendorRegistries): VendorRegistry | undefined {
  return isVendorRegistry(kind) ? vendors[kind] : undefined;
}

/** The grammar of repository names in the OCI Distribution Specification 1.1. */
function isImageName(name: string): boolean {
  return /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/.test(name);
}
