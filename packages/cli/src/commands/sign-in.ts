import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError, type Client } from '@davit/client';
import { addressOf, type Cli } from '../cli.ts';
import { command, flags, serverFlags } from '../command.ts';
import { changeConfig, readConfig, type Context, type Named } from '../context/config.ts';
import { CliError, exitCodes, explain, misused } from '../errors.ts';
import { ago } from '../output/text.ts';
import { openAddress } from '../open-address.ts';

interface LoginFlags {
  readonly name?: string;
  readonly scope?: 'READ' | 'DEPLOY' | 'WRITE';
  readonly tokenStdin: boolean;
  readonly noBrowser: boolean;
}

export const login = command<LoginFlags>({
  brief: 'Sign in to a server, and use it from now on',
  details:
    'You confirm a code in the console, in a browser that may be on another machine. The command line then gets a token of its own, which `davit logout` and the next sign-in of the context revoke. For pipelines, set DAVIT_SERVER and DAVIT_TOKEN instead.',
  examples: [
    ['https://davit.example.org', 'sign in with the browser'],
    ['http://127.0.0.1:4440 --token-stdin < .davit/admin-token', 'use a token that exists'],
  ],
  flags: {
    name: flags.text('The name of the context. Default: the host of the server', 'name'),
    scope: {
      kind: 'enum',
      values: ['READ', 'DEPLOY', 'WRITE'],
      optional: true,
      brief: 'Ask for a token with these rights. Default: those of the person',
    },
    tokenStdin: flags.flag('Read a token from stdin instead'),
    noBrowser: flags.flag('Do not open a browser'),
  },
  arguments: [{ name: 'server', brief: 'The address of the server. Default: that of the current context', count: 'optional' }],
  run: async (cli, given, [address]) => {
    const config = await readConfig(cli.configFile);
    const current = config.current === null ? undefined : config.contexts[config.current];
    if (address === undefined && current === undefined) {
      throw misused('Which server?', 'davit login https://davit.example.org');
    }
    const server = address === undefined ? (current?.server ?? '') : addressOf(address);
    const context = given.tokenStdin ? await withToken(cli, server) : await withCode(cli, server, given);
    const name = given.name ?? (address === undefined && config.current !== null ? config.current : new URL(server).host);
    const former = (await readConfig(cli.configFile)).contexts[name];
    await changeConfig(cli.configFile, (now) => ({ ...now, current: name, contexts: { ...now.contexts, [name]: context } }));
    const location = context.organization === null ? '' : `, organization ${context.organization.name}`;
    cli.out.talk(`  ${cli.out.mark('ok')} Signed in to ${server}${location} (context ${name}).`);
    if (former !== undefined && former.token !== context.token) await giveUp(cli, former);
  },
});

/** Revokes the token that a context had before, and says where it stays. Nobody would find it otherwise. */
async function giveUp(cli: Cli, { server, token, isOwn, tokenName }: Context): Promise<void> {
  // A token that others may use too is only forgotten.
  if (!isOwn) return cli.out.talk('  The former token of the context still works for others.');
  try {
    await cli.client(server, token).call('revokeDeviceToken', { body: { access_token: token } });
    cli.out.talk('  The former token of the context is revoked.');
  } catch (error) {
    const { message } = explain(error, server);
    cli.out.talk(
      `  ${cli.out.mark('warn')} The former token of the context (${tokenName ?? 'without a name'}) stays: ${message}`,
    );
    cli.out.talk('  Delete it in the console.');
  }
}

async function withToken(cli: Cli, server: string): Promise<Context> {
  const token = (await cli.readStdin()).trim();
  if (!/^[\x21-\x7E]{8,}$/.test(token)) throw misused('There is no token on stdin.', 'davit login SERVER --token-stdin < FILE');
  const { results } = await cli.client(server, token).call('listOrganization');
  const [organization] = results;
  const isOnly = results.length === 1 && organization !== undefined;
  const only = isOnly ? { id: organization.id, name: organization.name } : null;
  return { server, token, isOwn: false, tokenName: null, expiresAt: null, organization: only };
}

async function withCode(cli: Cli, server: string, { scope, noBrowser }: LoginFlags): Promise<Context> {
  const client = cli.client(server);
  const body = { name: `davit on ${hostname()}`.slice(0, 200), ...(scope !== undefined && { scope }) };
  const begun = await client.call('createDeviceSignIn', { body });
  cli.out.talk(`  Open ${begun.verification_uri_complete}`);
  cli.out.talk(`  and confirm the code ${cli.out.style('bold', begun.user_code)}.`);
  if (!noBrowser && cli.isInteractive) openAddress(cli, begun.verification_uri_complete);
  const token = await awaitToken(client, begun);
  const organization: Named = await cli
    .client(server, token.access_token)
    .call('getOrganization', { params: { organizationId: token.organization_id } })
    .then(({ id, name }) => ({ id, name }));
  const { access_token, name, expires_at } = token;
  return { server, token: access_token, isOwn: true, tokenName: name, expiresAt: expires_at, organization };
}

interface Begun {
  readonly device_code: string;
  readonly interval: number;
  readonly expires_in: number;
}

/** Asks for the token until the person has confirmed or refused, or the code has expired. */
async function awaitToken(client: Client, { device_code, interval, expires_in }: Begun) {
  let seconds = interval;
  const end = performance.now() + expires_in * 1000;
  while (performance.now() < end) {
    await pause(seconds * 1000);
    try {
      return await client.call('getDeviceToken', { body: { device_code } });
    } catch (error) {
      const code = error instanceof ApiError ? error.code : 'UNREACHABLE';
      if (code === 'SLOW_DOWN') seconds += interval;
      else if (code === 'ACCESS_DENIED') {
        throw new CliError('The sign-in was refused in the console.', { exitCode: exitCodes.declined });
      } else if (code !== 'AUTHORIZATION_PENDING' && code !== 'UNREACHABLE') throw error;
    }
  }
  const advice = ['Begin again: davit login'];
  throw new CliError('Nobody confirmed the code in time.', { exitCode: exitCodes.notSignedIn, advice });
}

export const logout = command<{ readonly context?: string }>({
  brief: 'Revoke the token of a context, and forget it',
  examples: [['', 'sign out of the current server']],
  flags: { context: serverFlags.context },
  run: async (cli, given) => {
    const { name, context, client } = await cli.session(given);
    if (name === null) throw misused('The token is from DAVIT_TOKEN: there is nothing to sign out of.');
    // A token that others may use too is only forgotten.
    if (context.isOwn) await client.call('revokeDeviceToken', { body: { access_token: context.token } });
    await changeConfig(cli.configFile, ({ current, contexts, links }) => {
      const rest = Object.fromEntries(Object.entries(contexts).filter(([one]) => one !== name));
      return { links, contexts: rest, current: current === name ? (Object.keys(rest)[0] ?? null) : current };
    });
    const what = context.isOwn ? 'Its token is revoked' : 'Its token still works for others';
    cli.out.talk(`  ${cli.out.mark('ok')} Signed out of ${context.server}. ${what}.`);
  },
});

interface WhoamiFlags {
  readonly context?: string;
  readonly json: boolean;
}

export const whoami = command<WhoamiFlags>({
  brief: 'Show the server, the organization and the token that commands use',
  examples: [['', 'check that the token works']],
  flags: { context: serverFlags.context, json: serverFlags.json },
  run: async (cli, given) => {
    const { name, context, client } = await cli.session(given);
    const { results } = await client.call('listOrganization');
    if (given.json) return cli.out.json({ server: context.server, context: name, organizations: results });
    const { out } = cli;
    const names = results.map((one) => one.name).join(', ');
    const isSecretFrom = name === null ? 'DAVIT_TOKEN' : (context.tokenName ?? 'from stdin, at sign-in');
    const expires = context.expiresAt === null ? '' : `, until ${context.expiresAt.slice(0, 10)}`;
    out.data(`server         ${context.server}`);
    out.data(`context        ${name ?? 'none: DAVIT_SERVER and DAVIT_TOKEN'}`);
    out.data(`organization   ${names === '' ? 'none yet' : names}`);
    out.data(`token          ${isSecretFrom}${expires}`);
    if (context.expiresAt !== null && Date.parse(context.expiresAt) < cli.now()) {
      out.talk(`The token expired ${ago(context.expiresAt, cli.now())}: davit login`);
    }
  },
});

export const listContexts = command<{ readonly json: boolean }>({
  brief: 'List the servers that you are signed in to',
  examples: [['', 'show all; * is the current one']],
  flags: { json: flags.flag('Print JSON, without tokens') },
  run: async (cli, given) => {
    const { current, contexts } = await readConfig(cli.configFile);
    const all = Object.entries(contexts).map(([name, { server, organization, expiresAt }]) => ({
      name,
      server,
      organization: organization?.name ?? null,
      expires_at: expiresAt,
      is_current: name === current,
    }));
    if (given.json) return cli.out.json({ results: all });
    for (const one of all) {
      cli.out.data(`${one.is_current ? '*' : ' '} ${one.name}  ${one.server}  ${one.organization ?? ''}`.trimEnd());
    }
    if (all.length === 0) cli.out.talk('You are signed in to no server: davit login <address>');
  },
});

export const useContext = command<Readonly<Record<string, never>>>({
  brief: 'Use another server from now on',
  examples: [['davit.example.org', 'switch to that context']],
  flags: {},
  arguments: [{ name: 'name', brief: 'As in context list', count: 'one' }],
  run: async (cli, _given, [name = '']) => {
    const { contexts } = await readConfig(cli.configFile);
    if (contexts[name] === undefined) throw misused(`There is no context ${name}.`, 'Contexts: davit context list');
    await changeConfig(cli.configFile, (config) => ({ ...config, current: name }));
    cli.out.talk(`  Commands now use ${name}.`);
  },
});
