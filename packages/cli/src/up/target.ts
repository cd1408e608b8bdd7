import path from 'node:path';
import type { Cli, Session } from '../cli.ts';
import type { Named } from '../context/config.ts';
import { misused } from '../errors.ts';
import { leadsToLink, organizationOf, splitLocation, type Location, type LocationFlags } from '../location.ts';

interface TargetFlags extends LocationFlags {
  readonly name?: string;
  readonly cluster?: string;
  readonly repository?: string;
}

/** Where a folder is deployed to. A text is the name of a record that will be made. */
export interface Target {
  readonly name: string;
  readonly organization: Named | null;
  readonly project: Named | string;
  readonly environment: Named | string;
  readonly clusterId: string | null;
  readonly clusterName: string;
}

/** Finds or names the project, the environment and the service. */
export async function findTarget(cli: Cli, session: Session, given: TargetFlags): Promise<Target> {
  const { client } = session;
  const folderName =
    (path.basename(cli.folder) || 'app')
      .toLowerCase()
      .replaceAll(/[^a-z\d-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'app';
  const ofRepository = given.repository === undefined ? undefined : path.posix.basename(given.repository, '.git');
  const linkedName =
    session.isLinkedHere && session.link?.service?.type === 'APPLICATION' ? session.link.service.name : undefined;
  const name = given.name ?? ofRepository ?? linkedName ?? folderName;
  const [projectName, environmentName] = targetNames(cli, session.link, given, name);
  const { results: organizations } = await client.call('listOrganization');
  if (organizations.length === 0) {
    // An administrator's token before the first organization.
    return {
      name,
      organization: null,
      project: projectName,
      environment: environmentName,
      clusterId: null,
      clusterName: 'Local',
    };
  }
  const organization = await organizationOf(cli, session, given);
  const params = { organizationId: organization.id };
  const [projects, clusters] = await Promise.all([
    client.call('listProject', { params }),
    client.call('listOrganizationCluster', { params }),
  ]);
  const project = named(projects.results, projectName);
  const environments =
    project === undefined ? [] : (await client.call('listEnvironment', { params: { projectId: project.id } })).results;
  const environment = named(environments, environmentName);
  const cluster =
    given.cluster === undefined
      ? clusters.results.find((one) => one.is_default === true)
      : named(clusters.results, given.cluster);
  if (given.cluster !== undefined && cluster === undefined) {
    throw misused(`There is no cluster ${given.cluster}.`, `There are ${clusters.results.map((one) => one.name).join(', ')}.`);
  }
  return {
    name,
    organization,
    project: project ?? projectName,
    environment: environment ?? environmentName,
    clusterId: given.cluster === undefined ? null : (cluster?.id ?? null),
    clusterName: environment?.cluster_name ?? cluster?.name ?? 'the default cluster',
  };
}

/** Returns the project and the environment: by flags, by variables, by the link, or named after the service. */
export function targetNames(
  { environment: variables }: Pick<Cli, 'environment'>,
  link: Location | null,
  flags: LocationFlags,
  name: string,
): [project: string, environment: string] {
  const wanted = [flags.project ?? variables['DAVIT_PROJECT'], flags.environment ?? variables['DAVIT_ENVIRONMENT']] as const;
  const [project, environment] = splitLocation(...wanted);
  const organization = flags.organization ?? variables['DAVIT_ORGANIZATION'];
  const isLinked =
    link !== null && leadsToLink({ environment: {} }, link, { ...flags, project, environment: undefined, organization });
  return isLinked
    ? [project ?? link.project.name, environment ?? link.environment.name]
    : [project ?? name, environment ?? 'production'];
}

/** Returns the record with the name or id. */
export function named<Item extends Named>(all: readonly Item[], wanted: string): Item | undefined {
  return all.find(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase());
}
