import { command, flags, locationAliases, locationFlags, serviceArgument } from '../command.ts';
import { CliError } from '../errors.ts';
import { callKind, metrics as readMetrics } from '../kinds.ts';
import { openAddress } from '../open-address.ts';
import { table } from '../output/text.ts';
import { findService, openSite, type LocationFlags } from '../location.ts';

export const open = command<LocationFlags & { readonly print: boolean }>({
  brief: 'Open the address of a service in the browser',
  examples: [
    ['api', 'open it'],
    ['api --print', 'print all its addresses'],
  ],
  flags: { ...locationFlags, print: flags.flag('Only print the addresses') },
  aliases: locationAliases,
  arguments: [serviceArgument],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const service = await findService(cli, site, name);
    const params = { environmentId: site.location.environment.id };
    const { results } = await site.client.call('listEnvironmentServicesLinks', { params });
    const links = results.filter((link) => link.service_id === service.id);
    if (given.json) return cli.out.json({ results: links });
    const first = links.find((link) => link.is_default) ?? links[0];
    if (first === undefined) {
      const advice = ['A service has an address when one of its ports is publicly accessible.'];
      throw new CliError(`${service.name} has no address.`, { advice });
    }
    for (const { url } of given.print ? links : [first]) cli.out.data(url);
    if (!given.print && cli.isInteractive) openAddress(cli, first.url);
  },
});

export const metrics = command<LocationFlags & { readonly since?: number }>({
  brief: 'Show what a service used: processor, memory, requests, latency',
  examples: [
    ['api', 'the last hour'],
    ['api --since 1d --json', 'a day, as the API answers it'],
  ],
  flags: { ...locationFlags, since: flags.seconds('So far back, at most 1d. Default: 1h') },
  aliases: locationAliases,
  arguments: [serviceArgument],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const service = await findService(cli, site, name);
    const minutes = Math.min(1440, Math.max(1, Math.ceil((given.since ?? 3600) / 60)));
    const answer = await callKind(readMetrics(minutes), site.client, service, 'measured');
    if (given.json) return cli.out.json(answer);
    if (answer.results.length === 0) return cli.out.talk(`  ${service.name} did not run in this time.`);
    // About twenty lines, whatever the time.
    const each = Math.ceil(answer.results.length / 20);
    const shown = answer.results.filter((_, index) => (answer.results.length - 1 - index) % each === 0);
    const rows = shown.map((step) => [
      new Date(step.at).toTimeString().slice(0, 5),
      step.instances.toFixed(step.instances % 1 === 0 ? 0 : 1),
      step.cpu === null ? '' : String(Math.round(step.cpu)),
      String(Math.round(step.maximum_memory)),
      String(step.requests),
      String(step.responses['5xx']),
      step.latency_ms === null ? '' : String(Math.round(step.latency_ms.p50)),
      step.latency_ms === null ? '' : String(Math.round(step.latency_ms.p99)),
    ]);
    const titles = ['TIME', 'INSTANCES', 'CPU m', 'MEMORY MiB', 'REQUESTS', '5xx', 'p50 ms', 'p99 ms'];
    const columns = titles.map((title, index) => ({ title, ...(index > 0 && { align: 'right' as const }) }));
    for (const line of table(columns, rows, cli.out.dataColumns)) cli.out.data(line);
  },
});
