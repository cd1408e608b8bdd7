import type { CallAnswer } from '@davit/client';
import type { Cli } from '../cli.ts';
import { command, flags, locationAliases, locationFlags, serviceArgument } from '../command.ts';
import { misused } from '../errors.ts';
import { changeLines, compareReleases } from '../changes.ts';
import { explainFailure, readCircumstances } from '../explanation.ts';
import { deploymentNumber, readHistory, titleOf, versionOf, type HistoryEntry } from '../history.ts';
import { ago, cut, duration, fit, milliseconds, phrase, plural, printable, table } from '../output/text.ts';
import { findService, openSite, locationName, servicesOf, type LocationFlags, type Service, type Site } from '../location.ts';
import { markOf } from '../progress.ts';
import { stateWord, statusesOf, type ServiceStatus } from '../statuses.ts';

type Details = CallAnswer<'getEnvironmentStatusesWithStages'>;
type Stage = Details['stages'][number];

/** The records that `status` shows. They are read at the same time, in one round trip. */
interface Seen {
  readonly site: Site;
  readonly details: Details;
  readonly services: ReadonlyMap<string, Service>;
}

export const status = command<LocationFlags>({
  brief: 'Show the services of an environment, by stage',
  examples: [
    ['', 'what runs, what fails, what is not deployed yet'],
    ['--environment shop/staging --json', 'the answer of the API'],
  ],
  flags: locationFlags,
  aliases: locationAliases,
  run: async (cli, given) => {
    const site = await openSite(cli, given);
    const params = { environmentId: site.location.environment.id };
    const [details, services] = await Promise.all([
      site.client.call('getEnvironmentStatusesWithStages', { params }),
      given.json || given.quiet ? [] : servicesOf(site),
    ]);
    if (given.json) return cli.out.json(details);
    const byId = new Map(services.map((one) => [one.id, one]));
    if (given.quiet) {
      for (const stage of details.stages) for (const { status: one } of statusesOf(stage)) cli.out.data(one.id);
      return;
    }
    show(cli, { site, details, services: byId });
  },
});

function show(cli: Cli, { site, details, services }: Seen): void {
  const { out } = cli;
  const all = details.stages.flatMap((stage) => statusesOf(stage));
  out.data([out.style('bold', locationName(site.location), 'data'), summary(all.map((one) => one.status))].join('   ').trimEnd());
  if (all.length === 0) out.talk('  There is no service yet. Make one of a folder: davit up');
  const pad = Math.max(4, ...all.map(({ status: { id } }) => (services.get(id)?.name ?? id).length));
  const limit = Math.min(pad, out.dataColumns === Infinity ? pad : 24);
  const used = details.stages.filter((stage) => statusesOf(stage).length > 0);
  used.forEach((stage, index) => showStage(cli, stage, { number: index + 1, pad: limit, services }));
  const stale = all.filter(({ status: one }) => isOutOfDate(one)).map(({ status: { id } }) => services.get(id)?.name ?? id);
  if (stale.length > 0)
    out.talk(`\n  * ${plural(stale.length, 'service')} with changes that are not deployed: davit diff ${stale[0]}`);
}

function summary(all: readonly ServiceStatus[]): string {
  const count = (mark: string): number => all.filter((one) => markOf(stateWord(one)) === mark).length;
  const stale = all.filter(isOutOfDate).length;
  const parts = [
    ...(count('bad') > 0 ? [`${count('bad')} failing`] : []),
    ...(count('go') + count('wait') > 0 ? [`${count('go') + count('wait')} under way`] : []),
    ...(stale > 0 ? [`${stale} not up to date`] : []),
  ];
  return parts.join(', ');
}

function isOutOfDate({ service_deployment_status: word }: ServiceStatus): boolean {
  return word === 'OUT_OF_DATE';
}

function showStage(
  cli: Cli,
  stage: Stage,
  { number, pad, services }: { number: number; pad: number; services: Seen['services'] },
): void {
  const { out } = cli;
  const statuses = statusesOf(stage);
  out.data('');
  out.data(`  ${number} ${stage.stage.name}`);
  for (const { status: one } of statuses) {
    const service = services.get(one.id);
    const word = stateWord(one);
    const name = fit(service?.name ?? one.id, pad);
    const state = fit(`${phrase(word)}${isOutOfDate(one) ? ' *' : ''}`, 18);
    const counted = one.wanted_instances ?? one.running_instances;
    const instances = counted === null || counted === undefined ? '' : `${one.running_instances ?? 0}/${counted}`;
    const when = one.last_deployment_date === undefined ? '' : ago(one.last_deployment_date, cli.now());
    const width = out.dataColumns - (4 + pad + 2 + 2 + 18 + 2 + 5 + 2 + 11);
    const about = service === undefined ? '' : aboutService(service);
    const columns = [name, `${out.mark(markOf(word), 'data')} ${state}`, fit(instances, 5), fit(when, 11)];
    out.data(`    ${columns.join('  ')}  ${width < 8 ? '' : cut(about, width)}`.trimEnd());
    const message = printable(one.failure?.message ?? one.conditions?.[0]?.message ?? '').replaceAll('\n', ' ');
    const isBad = markOf(word) === 'bad' || (one.conditions?.length ?? 0) > 0;
    if (isBad && message !== '') out.data(`    ${' '.repeat(pad)}  ${cut(message, out.dataColumns - pad - 6)}`);
  }
}

function aboutService(service: Service): string {
  if (service.service_type === 'DATABASE') return `${service.type.toLowerCase()} ${service.version}`;
  if (service.service_type === 'APPLICATION') {
    const { deployed_commit_id: commit, branch = '' } = service.git_repository ?? {};
    return commit === undefined ? branch : `${commit.slice(0, 7)} ${branch}`;
  }
  if (service.service_type === 'CONTAINER') return `${service.image_name}:${service.tag}`;
  return service.service_type.toLowerCase();
}

export const ps = command<LocationFlags>({
  brief: 'Show the instances of each service, one line a service',
  examples: [['', 'how many instances run, and of which release']],
  flags: locationFlags,
  aliases: locationAliases,
  run: async (cli, given) => {
    const site = await openSite(cli, given);
    const params = { environmentId: site.location.environment.id };
    const [statuses, services] = await Promise.all([
      site.client.call('getEnvironmentStatuses', { params }),
      given.json || given.quiet ? [] : servicesOf(site),
    ]);
    if (given.json) return cli.out.json(statuses);
    const names = new Map(services.map((one) => [one.id, one.name]));
    const all = statusesOf(statuses);
    if (given.quiet) return all.forEach(({ status: { id } }) => cli.out.data(id));
    const rows = all.map(({ status: one, type }) => [
      names.get(one.id) ?? one.id,
      type.toLowerCase(),
      one.running_status === null || one.running_status === undefined ? 'not running' : phrase(one.running_status),
      `${one.running_instances ?? 0}/${one.wanted_instances ?? 0}`,
      one.release_id?.slice(0, 8) ?? '',
      one.last_deployment_date === undefined ? '' : ago(one.last_deployment_date, cli.now()),
    ]);
    const columns = ['SERVICE', 'KIND', 'RUNNING', 'INSTANCES', 'RELEASE', 'DEPLOYED'].map((title) => ({ title, cutFirst: 1 }));
    for (const line of table(columns, rows, cli.out.dataColumns)) cli.out.data(line);
  },
});

export const history = command<LocationFlags & { readonly limit?: number }>({
  brief: 'List the deployments of a service, newest first',
  examples: [
    ['api', 'who deployed what, when, and how it ended'],
    ['api --limit 100', 'list more of them'],
  ],
  flags: { ...locationFlags, limit: flags.number('List so many. Default: 20', 'number') },
  aliases: locationAliases,
  arguments: [serviceArgument],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const service = await findService(cli, site, name);
    const entries = await readHistory(site.client, service, given.limit ?? 20);
    if (given.json) return cli.out.json({ results: entries });
    if (given.quiet) return entries.forEach(({ identifier }) => cli.out.data(identifier.execution_id ?? ''));
    const columns = [
      { title: 'NUMBER' },
      { title: 'STATE', cutFirst: 1 },
      { title: 'WHEN' },
      { title: 'TOOK' },
      { title: 'BY', cutFirst: 2 },
      { title: 'VERSION', cutFirst: 3 },
      { title: '', cutFirst: 4 },
    ];
    const rows = entries.map((entry) => [
      deploymentNumber(entry.identifier.execution_id),
      phrase(entry.status),
      ago(entry.auditing_data.created_at, cli.now()),
      duration(milliseconds(entry.total_duration)),
      entry.auditing_data.triggered_by,
      versionOf(entry),
      titleOf(entry),
    ]);
    for (const line of table(columns, rows, cli.out.dataColumns)) cli.out.data(line);
  },
});

export const explain = command<LocationFlags & { readonly deployment?: number }>({
  brief: 'Explain why a service failed: the cause, what was seen, what changed, what to do',
  examples: [
    ['api', 'explain the last failure'],
    ['api --deployment 318', 'explain an earlier one'],
  ],
  flags: { ...locationFlags, deployment: flags.number('The number of the deployment, as in davit history', 'number') },
  aliases: locationAliases,
  arguments: [serviceArgument],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const service = await findService(cli, site, name);
    const params = { environmentId: site.location.environment.id };
    const [statuses, entries] = await Promise.all([
      site.client.call('getEnvironmentStatuses', { params }),
      readHistory(site.client, service, given.deployment === undefined ? 50 : 200),
    ]);
    const found = statusesOf(statuses).find(({ status: { id } }) => id === service.id)?.status;
    const failed = failureIn(service.name, entries, given.deployment) ?? {
      failure: found?.failure ?? found?.conditions?.[0] ?? null,
    };
    if (given.json) return cli.out.json(failed.failure);
    if (failed.failure === null) {
      const which = given.deployment === undefined ? service.name : `Deployment ${given.deployment} of ${service.name}`;
      cli.out.talk(`  ${which} has not failed.`);
      return;
    }
    const executionId = 'executionId' in failed ? failed.executionId : found?.execution_id;
    const circumstances = await readCircumstances(site.client, service, executionId);
    explainFailure(cli, { name: service.name, status: found, executionId, ...circumstances, failure: failed.failure });
  },
});

export const diff = command<LocationFlags & { readonly from?: number; readonly to?: number }>({
  brief: 'Show the settings of a service that differ between two deployments, or that are not deployed yet',
  examples: [
    ['api', 'what the next deployment would change'],
    ['api --to 318', 'what deployment 318 changed, compared with the last one that worked before'],
    ['api --from 310 --to 318', 'compare two deployments'],
  ],
  flags: {
    ...locationFlags,
    from: flags.number('The number of the earlier deployment, as in davit history', 'number'),
    to: flags.number('The number of the later deployment', 'number'),
  },
  aliases: locationAliases,
  arguments: [serviceArgument],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const service = await findService(cli, site, name);
    const entries = given.from === undefined && given.to === undefined ? [] : await readHistory(site.client, service, 200);
    const releaseOf = (number: number | undefined): string | undefined => {
      if (number === undefined) return undefined;
      const entry = entries.find(({ identifier }) => deploymentNumber(identifier.execution_id) === String(number));
      const release = entry?.release_id ?? undefined;
      if (release === undefined)
        throw misused(`${service.name} has no release of deployment ${number}.`, `davit history ${service.name}`);
      return release;
    };
    const [from, to] = [releaseOf(given.from), releaseOf(given.to)];
    const query = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    const comparison = await compareReleases(site.client, service.id, query);
    if (given.json) return cli.out.json(comparison);
    for (const line of changeLines(cli.out, comparison, 'data')) cli.out.data(line);
    if (comparison.changes.length === 0) {
      cli.out.talk(comparison.from === null ? `  ${service.name} has not worked before.` : '  Nothing differs.');
    }
  },
});

/** Returns the failure of the deployment with the number; undefined without a number. */
export function failureIn(name: string, entries: readonly HistoryEntry[], number: number | undefined) {
  if (number === undefined) return undefined;
  const entry = entries.find(({ identifier }) => deploymentNumber(identifier.execution_id) === String(number));
  if (entry === undefined) throw misused(`${name} has no deployment ${number}.`, `davit history ${name} --limit 200`);
  return { failure: entry.failure ?? null, executionId: entry.identifier.execution_id };
}
