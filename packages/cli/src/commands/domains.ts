import type { CallAnswer, Client } from '@davit/client';
import { command, flags, locationAliases, locationFlags } from '../command.ts';
import { misused } from '../errors.ts';
import { announce } from '../follow.ts';
import { kindOf } from '../kinds.ts';
import { table } from '../output/text.ts';
import { choose, findService, openSite, type LocationFlags, type ServiceReference } from '../location.ts';

type Domain = CallAnswer<'listApplicationCustomDomain'>['results'][number];

/** The operations on domains of one service. */
interface Domains {
  list(): Promise<{ readonly results: readonly Domain[] }>;
  check(): Promise<CallAnswer<'checkApplicationCustomDomain'>>;
  add(body: { readonly domain: string; readonly generate_certificate: boolean }): Promise<Domain>;
  remove(customDomainId: string): Promise<unknown>;
}

function domainsOf(client: Client, { id, name, type }: ServiceReference): Domains {
  if (type === 'APPLICATION') {
    const params = { applicationId: id };
    return {
      list: () => client.call('listApplicationCustomDomain', { params }),
      check: () => client.call('checkApplicationCustomDomain', { params }),
      add: (body) => client.call('createApplicationCustomDomain', { params, body }),
      remove: (customDomainId) => client.call('deleteCustomDomain', { params: { ...params, customDomainId } }),
    };
  }
  if (type === 'CONTAINER') {
    const params = { containerId: id };
    return {
      list: () => client.call('listContainerCustomDomain', { params }),
      check: () => client.call('checkContainerCustomDomain', { params }),
      add: (body) => client.call('createContainerCustomDomain', { params, body }),
      remove: (customDomainId) => client.call('deleteContainerCustomDomain', { params: { ...params, customDomainId } }),
    };
  }
  if (type === 'HELM') {
    const params = { helmId: id };
    return {
      list: () => client.call('listHelmCustomDomain', { params }),
      check: () => client.call('checkHelmCustomDomain', { params }),
      add: (body) => client.call('createHelmCustomDomain', { params, body }),
      remove: (customDomainId) => client.call('deleteHelmCustomDomain', { params: { ...params, customDomainId } }),
    };
  }
  throw misused(`${name} is ${kindOf(type)}, which has no domains.`);
}

type DomainFlags = LocationFlags & { readonly service?: string };
const domainFlags = { ...locationFlags, service: flags.text('Of this service. Default: that of this folder', 'name') };
const aliases = { ...locationAliases, s: 'service' } as const;

export const list = command<DomainFlags>({
  brief: 'List the domains of a service, and whether DNS leads them here',
  examples: [['--service web', 'which domains work, and what is missing at the others']],
  flags: domainFlags,
  aliases,
  run: async (cli, given) => {
    const site = await openSite(cli, given);
    const domains = domainsOf(site.client, await findService(cli, site, given.service));
    const [{ results }, checks] = await Promise.all([domains.list(), given.quiet ? null : domains.check()]);
    if (given.json) return cli.out.json({ results, checks: checks?.results });
    if (given.quiet) return results.forEach(({ id }) => cli.out.data(id));
    const rows = results.map(({ domain, generate_certificate: hasCertificate }) => {
      const check = checks?.results.find(({ domain_name: name }) => name === domain);
      const state = check === undefined ? '' : check.status.toLowerCase().replaceAll('_', ' ');
      return [domain, hasCertificate ? 'certificate' : 'no certificate', state, check?.error_details ?? ''];
    });
    const columns = ['DOMAIN', 'HTTPS', 'DNS', ''].map((title, index) => ({ title, ...(index === 3 && { cutFirst: 1 }) }));
    for (const line of table(columns, rows, cli.out.dataColumns)) cli.out.data(line);
  },
});

export const add = command<DomainFlags & { readonly noCertificate: boolean }>({
  brief: 'Add a domain to a service; the next deployment applies it',
  examples: [['shop.example.org --service web', 'serve the domain, with a certificate']],
  flags: { ...domainFlags, noCertificate: flags.flag('Do not get a certificate') },
  aliases,
  arguments: [{ name: 'domain', brief: 'The domain', count: 'one' }],
  run: async (cli, given, [domain = '']) => {
    const site = await openSite(cli, given);
    const service = await findService(cli, site, given.service);
    announce(cli, site.location);
    const made = await domainsOf(site.client, service).add({ domain, generate_certificate: !given.noCertificate });
    if (given.json) return cli.out.json(made);
    if (given.quiet) return cli.out.data(made.id);
    const { validation_domain: target } = made;
    cli.out.talk(`  ${cli.out.mark('ok')} ${made.domain} is a domain of ${service.name} from the next deployment on.`);
    if (target !== undefined) cli.out.talk(`  Let DNS lead it to ${target}.`);
    cli.out.talk(`  davit deploy ${service.name}`);
  },
});

export const remove = command<DomainFlags>({
  brief: 'Remove a domain from a service; the next deployment applies it',
  examples: [['shop.example.org --service web', 'stop serving the domain']],
  flags: domainFlags,
  aliases,
  arguments: [{ name: 'domain', brief: 'The domain', count: 'one' }],
  run: async (cli, given, [wanted = '']) => {
    const site = await openSite(cli, given);
    const domains = domainsOf(site.client, await findService(cli, site, given.service));
    const named = (await domains.list()).results.map(({ id, domain }) => ({ id, name: domain }));
    const { id, name } = choose(named, wanted, { noun: 'domain', flag: '' });
    announce(cli, site.location);
    await domains.remove(id);
    cli.out.talk(`  ${cli.out.mark('ok')} ${name} is removed.`);
  },
});
