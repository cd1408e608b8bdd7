import { command, flags, serverAliases, serverFlags } from '../command.ts';
import type { ServerFlags } from '../cli.ts';
import { ago, table } from '../output/text.ts';
import { choose, organizationOf } from '../location.ts';

export const list = command<ServerFlags>({
  brief: 'List the API tokens of the organization, without their values',
  examples: [['', 'which there are, what they may do, until when']],
  flags: serverFlags,
  aliases: serverAliases,
  run: async (cli, given) => {
    const session = await cli.session(given);
    const params = { organizationId: (await organizationOf(cli, session, given)).id };
    const { results } = await session.client.call('listOrganizationApiTokens', { params });
    if (given.json) return cli.out.json({ results });
    if (given.quiet) return results.forEach(({ id }) => cli.out.data(id));
    const rows = results.map((one) => [
      one.name,
      one.role_name ?? '',
      ago(one.created_at, cli.now()),
      one.expires_at?.slice(0, 10) ?? 'never',
      one.id,
    ]);
    const columns = ['NAME', 'RIGHTS', 'CREATED', 'EXPIRES', 'ID'].map((title) => ({
      title,
      cutFirst: title === 'NAME' ? 1 : 0,
    }));
    for (const line of table(columns, rows, cli.out.dataColumns)) cli.out.data(line);
  },
});

type CreateFlags = ServerFlags & { readonly scope?: 'READ' | 'DEPLOY' | 'WRITE' | 'ADMIN'; readonly expires?: number };

export const create = command<CreateFlags>({
  brief: 'Create an API token of the organization; its value is printed once',
  examples: [['pipeline --scope DEPLOY --expires 90d', 'for a pipeline, which sets DAVIT_SERVER and DAVIT_TOKEN']],
  flags: {
    ...serverFlags,
    quiet: flags.flag('Print the value only'),
    scope: {
      kind: 'enum',
      values: ['READ', 'DEPLOY', 'WRITE', 'ADMIN'],
      optional: true,
      brief: 'What it may do. Default: DEPLOY',
    },
    expires: flags.seconds('It stops working after 30d, 12h. Default: never'),
  },
  aliases: serverAliases,
  arguments: [{ name: 'name', brief: 'The name of the token', count: 'one' }],
  run: async (cli, given, [name = '']) => {
    const session = await cli.session(given);
    const params = { organizationId: (await organizationOf(cli, session, given)).id };
    const { expires, scope = 'DEPLOY' } = given;
    const expires_at = expires === undefined ? null : new Date(cli.now() + expires * 1000).toISOString();
    const made = await session.client.call('createOrganizationApiToken', { params, body: { name, scope, expires_at } });
    if (given.json) return cli.out.json(made);
    cli.out.data(made.token);
    if (!given.quiet) cli.out.talk('  Keep it: it is not shown again.');
  },
});

export const revoke = command<ServerFlags>({
  brief: 'Delete an API token of the organization; it stops working at once',
  examples: [['pipeline', 'by its name or id']],
  flags: serverFlags,
  aliases: serverAliases,
  arguments: [{ name: 'token', brief: 'Its name or id', count: 'one' }],
  run: async (cli, given, [wanted = '']) => {
    const session = await cli.session(given);
    const params = { organizationId: (await organizationOf(cli, session, given)).id };
    const { results } = await session.client.call('listOrganizationApiTokens', { params });
    const { id, name } = choose(results, wanted, { noun: 'token', flag: '' });
    await session.client.call('deleteOrganizationApiToken', { params: { ...params, apiTokenId: id } });
    cli.out.talk(`  ${cli.out.mark('ok')} ${name} is revoked.`);
  },
});
