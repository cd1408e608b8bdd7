import type { CallAnswer } from '@davit/client';
import type { Cli, ServerFlags, Session } from './cli.ts';
import type { Named } from './context/config.ts';
import { CliError, misused } from './errors.ts';
import { nearest } from './nearest.ts';

/** Flags of commands that work in an environment. */
export interface LocationFlags extends ServerFlags {
  readonly project?: string;
  readonly environment?: string;
}

/** An environment with what contains it. */
export interface Location {
  readonly organization: Named;
  readonly project: Named;
  readonly environment: Named;
}

export type Service = CallAnswer<'listServicesByEnvironmentId'>['results'][number];
export type ServiceType = Service['service_type'];
export interface ServiceReference extends Named {
  readonly type: ServiceType;
}

/** A session in an environment. */
export interface Site extends Session {
  readonly location: Location;
}

/** Returns the location in the form that people read: "acme / shop / production". */
export function locationName({ organization, project, environment }: Location): string {
  return [organization, project, environment].map(({ name }) => name).join(' / ');
}

export async function organizationOf(cli: Cli, session: Session, flags: ServerFlags): Promise<Named> {
  const wanted = flags.organization ?? cli.environment['DAVIT_ORGANIZATION'];
  const known = session.link?.organization ?? session.context.organization;
  if (known !== null && (wanted === undefined || isNamed(known, wanted))) return known;
  const { results } = await session.client.call('listOrganization');
  return choose(results, wanted, { noun: 'organization', flag: '--organization' });
}

/** Opens the session and finds the environment: by flags, by variables, by the folder's link, or the only one. */
export async function openSite(cli: Cli, flags: LocationFlags): Promise<Site> {
  const session = await cli.session(flags);
  return { ...session, location: await findLocation(cli, session, flags) };
}

async function findLocation(cli: Cli, session: Session, flags: LocationFlags): Promise<Location> {
  const { link, client } = session;
  const wantedProject = flags.project ?? cli.environment['DAVIT_PROJECT'];
  const wantedEnvironment = flags.environment ?? cli.environment['DAVIT_ENVIRONMENT'];
  const organization = await organizationOf(cli, session, flags);
  const isLinked = link !== null && link.organization.id === organization.id;
  if (isLinked && wantedProject === undefined && wantedEnvironment === undefined) return link;
  const params = { organizationId: organization.id };
  const [projects, environments] = await Promise.all([
    client.call('listProject', { params }),
    client.call('listEnvironmentsByOrganizationId', { params }),
  ]);
  const [projectName, environmentName] = splitLocation(wantedProject, wantedEnvironment);
  const wanted = projectName ?? (isLinked ? link.project.id : undefined);
  const project = wanted === undefined ? null : choose(projects.results, wanted, { noun: 'project', flag: '--project' });
  const names = new Map(projects.results.map(({ id, name }) => [id, name]));
  const all = environments.results
    .filter((one) => project === null || one.project.id === project.id)
    .map((one) => ({ ...one, title: `${names.get(one.project.id) ?? one.project.id}/${one.name}` }));
  const found = choose(all, environmentName, { noun: 'environment', flag: '--environment' });
  const { id } = found.project;
  return { organization, project: { id, name: names.get(id) ?? id }, environment: { id: found.id, name: found.name } };
}

/** Returns whether the flags or variables name the environment of the link, or nothing else. */
export function leadsToLink(cli: Pick<Cli, 'environment'>, link: Location, flags: LocationFlags): boolean {
  const { DAVIT_ORGANIZATION, DAVIT_PROJECT, DAVIT_ENVIRONMENT } = cli.environment;
  const [project, environment] = splitLocation(flags.project ?? DAVIT_PROJECT, flags.environment ?? DAVIT_ENVIRONMENT);
  const organization = flags.organization ?? DAVIT_ORGANIZATION;
  const isOther = (record: Named, wanted: string | undefined): boolean => wanted !== undefined && !isNamed(record, wanted);
  return !(isOther(link.organization, organization) || isOther(link.project, project) || isOther(link.environment, environment));
}

/** An environment may be named with its project: `shop/production`. */
export function splitLocation(project: string | undefined, environment: string | undefined): [string?, string?] {
  const at = environment?.indexOf('/') ?? -1;
  if (environment === undefined || at === -1) return [project, environment];
  return [project ?? environment.slice(0, at), environment.slice(at + 1)];
}

export async function servicesOf({ client, location }: Site): Promise<readonly Service[]> {
  const params = { environmentId: location.environment.id };
  return (await client.call('listServicesByEnvironmentId', { params })).results;
}

/** Returns the services with these names or ids. */
export async function findServices(site: Site, names: readonly string[]): Promise<readonly ServiceReference[]> {
  const all = await servicesOf(site);
  return names.map((name) => {
    const { id, name: full, service_type: type } = choose(all, name, { noun: 'service', flag: '--service' }, site.location);
    return { id, name: full, type };
  });
}

/** Returns the service that a command is about: the named one, the linked one, or the only one. */
export async function findService(cli: Cli, site: Site, name: string | undefined): Promise<ServiceReference> {
  const wanted = name ?? cli.environment['DAVIT_SERVICE'];
  const linked = linkedService(site);
  if (wanted === undefined && linked !== null) return linked;
  const all = await servicesOf(site);
  const { id, name: full, service_type: type } = choose(all, wanted, { noun: 'service', flag: '--service' }, site.location);
  return { id, name: full, type };
}

const types: readonly string[] = ['APPLICATION', 'CONTAINER', 'DATABASE', 'JOB', 'HELM', 'TERRAFORM'] satisfies ServiceType[];

/** Returns the service that the folder is linked to, if it is in the environment of the command. */
export function linkedService({ link, location }: Site): ServiceReference | null {
  if (link === null || link.service === null || link.environment.id !== location.environment.id) return null;
  const { id, name, type } = link.service;
  return isType(type) ? { id, name, type } : null;
}

function isType(type: string): type is ServiceType {
  return types.includes(type);
}

interface Choice {
  readonly noun: string;
  readonly flag: string;
}

/** Returns the record with the name or id; without a name, the only one. */
export function choose<Item extends Named & { readonly title?: string }>(
  all: readonly Item[],
  wanted: string | undefined,
  { noun, flag }: Choice,
  location?: Location,
): Item {
  const where = location === undefined ? '' : ` in ${locationName(location)}`;
  const titles = all.map((one) => one.title ?? one.name);
  const found = wanted === undefined ? all : all.filter((one) => isNamed(one, wanted));
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  if (wanted !== undefined && first === undefined) {
    throw misused(`There is no ${noun} ${wanted}${where}.`, ...suggest(all, wanted));
  }
  if (first === undefined) throw new CliError(`There is no ${noun}${where} yet.`, { advice: ['Make one of a folder: davit up'] });
  const list = (wanted === undefined ? titles : found.map((one) => one.title ?? one.name)).slice(0, 20).join(', ');
  throw misused(`Which ${noun}${where}? There are ${list}.`, `Name it: ${flag} ${found[0]?.title ?? first.name}`);
}

function suggest(all: readonly Named[], wanted: string): string[] {
  const names = [...new Set(all.map(({ name }) => name))];
  const near = nearest(wanted, names);
  if (near.length > 0) return [`Did you mean ${near.join(' or ')}?`];
  return names.length === 0 ? [] : [`There are ${names.slice(0, 20).join(', ')}.`];
}

function isNamed({ id, name }: Named, wanted: string): boolean {
  return id === wanted || name.toLowerCase() === wanted.toLowerCase();
}
