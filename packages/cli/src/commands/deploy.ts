import type { Cli } from '../cli.ts';
import { command, flags, followFlags, locationAliases, locationFlags, serviceArgument } from '../command.ts';
import { misused, type ExitCode } from '../errors.ts';
import { announce, followDeployment, type FollowFlags } from '../follow.ts';
import { deploymentNumber, hasSucceeded, readHistory, versionOf } from '../history.ts';
import { callKind, deployBody, redeploys, restarts, rollbacks, scales, stops, type Requested, type Version } from '../kinds.ts';
import { findService, findServices, openSite, type LocationFlags, type ServiceReference, type Site } from '../location.ts';

type ChangeFlags = LocationFlags & FollowFlags;
const changeFlags = { ...locationFlags, ...followFlags };

type DeployFlags = ChangeFlags & {
  readonly all: boolean;
  readonly commit?: string;
  readonly tag?: string;
  readonly chartVersion?: string;
};

export const deploy = command<DeployFlags>({
  brief: 'Deploy services, and wait until they run',
  details:
    'Without a name: the service of this folder (davit link), or all services of the environment with --all. If the deployment fails, the cause is printed and the exit code is 5; what ran before keeps running.',
  examples: [
    ['', 'deploy the service of this folder'],
    ['api web', 'deploy two services together'],
    ['--all --environment staging', 'deploy a whole environment'],
    ['api --commit 3f1c0aa', 'deploy a certain commit'],
    ['api --detach', 'start the deployment and print its id'],
  ],
  flags: {
    ...changeFlags,
    all: flags.flag('Deploy all services of the environment'),
    commit: flags.text('Deploy this commit', 'id'),
    tag: flags.text('Deploy this tag of the image', 'tag'),
    chartVersion: flags.text('Deploy this version of the chart', 'version'),
  },
  aliases: locationAliases,
  arguments: [{ name: 'service', brief: 'A service of the environment', count: 'many' }],
  run: async (cli, given, names) => {
    const site = await openSite(cli, given);
    const params = { environmentId: site.location.environment.id };
    if (given.all) {
      if (names.length > 0) throw misused('Name services, or deploy all of them with --all: not both.');
      if (Object.keys(versionIn(given)).length > 0) {
        throw misused('All services have no version in common: name those that have it.', 'davit deploy api --commit 3f1c0aa');
      }
      announce(cli, site.location);
      const { deployment_request_id: id } = await site.client.call('deployEnvironment', { params });
      return followDeployment(cli, site, id, given);
    }
    const services = names.length > 0 ? await findServices(site, names) : [await findService(cli, site, undefined)];
    const body = deployBody(services, versionIn(given));
    announce(cli, site.location);
    const { deployment_request_id: id } = await site.client.call('deployAllServices', { params, body });
    return followDeployment(cli, site, id, given);
  },
});

function versionIn({ commit, tag, chartVersion: chart }: DeployFlags): Version {
  return {
    ...(commit !== undefined && { commit }),
    ...(tag !== undefined && { tag }),
    ...(chart !== undefined && { chart }),
  };
}

/** Opens the environment, finds the service, requests the change and follows it. */
async function change(
  cli: Cli,
  given: ChangeFlags,
  name: string | undefined,
  request: (site: Site, service: ServiceReference) => Promise<Requested>,
): Promise<ExitCode> {
  const site = await openSite(cli, given);
  const service = await findService(cli, site, name);
  announce(cli, site.location);
  const { deployment_request_id: id } = await request(site, service);
  return followDeployment(cli, site, id, given);
}

export const restart = command<ChangeFlags>({
  brief: 'Replace the instances of a service by new ones of the same release',
  examples: [['api', 'restart a service without interrupting it']],
  flags: changeFlags,
  aliases: locationAliases,
  arguments: [serviceArgument],
  run: (cli, given, [name]) =>
    change(cli, given, name, ({ client }, service) => callKind(restarts, client, service, 'restarted')),
});

export const stop = command<ChangeFlags & { readonly yes: boolean }>({
  brief: 'Stop a service; its data stays',
  examples: [
    ['api', 'stop a service, after a question'],
    ['api --yes', 'stop it without a question'],
  ],
  flags: { ...changeFlags, yes: flags.flag('Do not ask') },
  aliases: { ...locationAliases, y: 'yes' },
  arguments: [serviceArgument],
  run: (cli, given, [name]) =>
    change(cli, given, name, async ({ client }, service) => {
      if (!given.yes) await cli.confirm(`Stop ${service.name}? Nothing answers there then.`, '--yes');
      return callKind(stops, client, service, 'stopped');
    }),
});

export const rollback = command<ChangeFlags & { readonly to?: number }>({
  brief: 'Deploy an earlier release of a service again: the same image with the same variables',
  examples: [
    ['api', 'go back to the last release that worked before the current one'],
    ['api --to 317', 'go back to that deployment, as in davit history'],
  ],
  flags: { ...changeFlags, to: flags.number('The number of the deployment to go back to', 'number') },
  aliases: locationAliases,
  arguments: [serviceArgument],
  run: (cli, given, [name]) =>
    change(cli, given, name, async ({ client }, service) => {
      const history = await readHistory(client, service, 100);
      const [current] = history;
      const wanted =
        given.to === undefined
          ? history.find((one) => hasSucceeded(one) && one.release_id !== null && one.release_id !== current?.release_id)
          : history.find(({ identifier }) => deploymentNumber(identifier.execution_id) === String(given.to));
      if (wanted === undefined || wanted.release_id === null) {
        const which = given.to === undefined ? 'an earlier release that worked' : `a release of deployment ${given.to}`;
        throw misused(`${service.name} has not ${which} any more.`, `davit history ${service.name}`);
      }
      cli.out.talk(`  Back to deployment ${deploymentNumber(wanted.identifier.execution_id)} ${versionOf(wanted)}`.trimEnd());
      return callKind(rollbacks(wanted.release_id), client, service, 'rolled back');
    }),
});

export const scale = command<ChangeFlags & { readonly max?: number }>({
  brief: 'Set the number of instances of a service, and apply it',
  examples: [
    ['api 3', 'run three instances'],
    ['api 2 --max 6', 'run two to six'],
  ],
  flags: { ...changeFlags, max: flags.number('Run at most so many. Default: the same number', 'number') },
  aliases: locationAliases,
  arguments: [
    { name: 'service', brief: 'The service', count: 'one' },
    { name: 'instances', brief: 'The number of instances', count: 'one' },
  ],
  run: (cli, given, [name, instances = '']) => {
    if (!/^\d{1,4}$/.test(instances)) throw misused(`${instances} is no number of instances.`, 'davit scale api 3');
    const minimum = Number(instances);
    const body = { min_running_instances: minimum, max_running_instances: given.max ?? minimum };
    return change(cli, given, name, async ({ client }, service) => {
      await callKind(scales(body), client, service, 'scaled');
      return callKind(redeploys, client, service, 'deployed');
    });
  },
});
