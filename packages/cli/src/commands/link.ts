import { command, locationAliases, locationFlags } from '../command.ts';
import { changeConfig, type Link } from '../context/config.ts';
import { misused } from '../errors.ts';
import { findService, openSite, locationName, type LocationFlags, type ServiceReference, type Site } from '../location.ts';

type LinkFlags = LocationFlags & { readonly service?: string; readonly remove: boolean };

export const link = command<LinkFlags>({
  brief: 'Link this folder to an environment or a service',
  details:
    'Commands in this folder, and in those below it, then work there without flags. The link is in your own configuration, not in the folder.',
  examples: [
    ['--environment shop/production', 'work in that environment'],
    ['--environment shop/production --service api', 'and with that service'],
    ['--remove', 'forget the link of this folder'],
  ],
  flags: {
    ...locationFlags,
    service: { kind: 'parsed', parse: (input: string) => input, optional: true, brief: 'To this service', placeholder: 'name' },
    remove: { kind: 'boolean', brief: 'Forget the link', default: false, withNegated: false },
  },
  aliases: { ...locationAliases, s: 'service' },
  run: async (cli, given) => {
    if (given.remove) {
      await changeConfig(cli.configFile, (config) => {
        const links = Object.fromEntries(Object.entries(config.links).filter(([folder]) => folder !== cli.folder));
        return { ...config, links };
      });
      cli.out.talk('  This folder is linked to nothing.');
      return;
    }
    const site = await openSite(cli, given);
    const service = given.service === undefined ? null : await findService(cli, site, given.service);
    const made = await linkFolder(cli, site, service);
    if (given.json) cli.out.json(made);
    else cli.out.talk(`  This folder is ${locationName(site.location)}${service === null ? '' : ` / ${service.name}`}.`);
  },
});

/** Links the folder of the command. */
export async function linkFolder(
  cli: { readonly configFile: string; readonly folder: string },
  { name, location }: Site,
  service: ServiceReference | null,
): Promise<Link> {
  if (name === null)
    throw misused('A folder is linked to a context, not to DAVIT_SERVER and DAVIT_TOKEN.', 'davit login <server>');
  const { organization, project, environment } = location;
  const named = ({ id, name: title }: { id: string; name: string }) => ({ id, name: title });
  const made: Link = {
    context: name,
    organization: named(organization),
    project: named(project),
    environment: named(environment),
    service: service === null ? null : { ...named(service), type: service.type },
  };
  await changeConfig(cli.configFile, (config) => ({ ...config, links: { ...config.links, [cli.folder]: made } }));
  return made;
}
