import { open, readFile } from 'node:fs/promises';
import type { CallAnswer } from '@davit/client';
import type { Cli } from '../cli.ts';
import { command, flags, followFlags, locationAliases, locationFlags } from '../command.ts';
import { environmentLine, parseEnvironmentFile } from '../dotenv.ts';
import { CliError, codeOf, misused, type ExitCode } from '../errors.ts';
import { announce, followDeployment, type FollowFlags } from '../follow.ts';
import { deployBody, kindOf } from '../kinds.ts';
import { plural, table } from '../output/text.ts';
import { findService, linkedService, openSite, type LocationFlags, type ServiceReference, type Site } from '../location.ts';

type Variable = CallAnswer<'listVariables'>['results'][number];
type Scope = 'project' | 'environment' | 'service';
type ScopeFlags = LocationFlags & { readonly service?: string; readonly scope?: Scope };

const scopeFlags = {
  ...locationFlags,
  service: flags.text('Of this service. Default: that of this folder (DAVIT_SERVICE)', 'name'),
  scope: {
    kind: 'enum',
    values: ['project', 'environment', 'service'],
    optional: true,
    brief: 'Of which of these. Default: the service, if there is one',
  } as const,
};
const scopeAliases = { ...locationAliases, s: 'service' } as const;

/** Where variables are: the record that has them. */
interface Owner {
  readonly site: Site;
  readonly service: ServiceReference | null;
  readonly scope: Variable['scope'];
  readonly parentId: string;
  readonly name: string;
}

async function ownerOf(cli: Cli, given: ScopeFlags): Promise<Owner> {
  const site = await openSite(cli, given);
  const { project, environment } = site.location;
  const wanted = given.service ?? cli.environment['DAVIT_SERVICE'];
  const isService =
    given.scope === 'service' || (given.scope === undefined && (wanted !== undefined || linkedService(site) !== null));
  if (given.scope === 'project') return { site, service: null, scope: 'PROJECT', parentId: project.id, name: project.name };
  if (!isService) return { site, service: null, scope: 'ENVIRONMENT', parentId: environment.id, name: environment.name };
  const service = await findService(cli, site, wanted);
  if (service.type === 'DATABASE')
    throw misused(`${service.name} is ${kindOf(service.type)}, which has no variables of its own.`);
  return { site, service, scope: service.type, parentId: service.id, name: service.name };
}

async function readVariables({ site, scope, parentId }: Owner): Promise<readonly Variable[]> {
  return (await site.client.call('listVariables', { query: { parent_id: parentId, scope } })).results;
}

export const list = command<ScopeFlags & { readonly all: boolean }>({
  brief: 'List variables and secrets with where each comes from; values of secrets are never shown',
  examples: [
    ['--service api', 'what the process of a service gets'],
    ['--scope project', 'those of the project'],
    ['--service api --all', 'with those that Davit adds'],
  ],
  flags: { ...scopeFlags, all: flags.flag('With built-in variables') },
  aliases: scopeAliases,
  run: async (cli, given) => {
    const found = await readVariables(await ownerOf(cli, given));
    const shown = found.filter(({ scope }) => given.all || scope !== 'BUILT_IN').toSorted((a, b) => (a.key < b.key ? -1 : 1));
    if (given.json) return cli.out.json({ results: shown });
    if (given.quiet) return shown.forEach(({ id }) => cli.out.data(id));
    const rows = shown.map((one) => [one.key, valueText(one), one.scope.toLowerCase(), noteOf(one)]);
    const columns = [{ title: 'KEY', cutFirst: 1 }, { title: 'VALUE', cutFirst: 2 }, { title: 'OF' }, { title: '' }];
    for (const line of table(columns, rows, cli.out.dataColumns)) cli.out.data(line);
  },
});

function valueText({ is_secret: isSecret, value }: Variable): string {
  return isSecret ? '(secret)' : JSON.stringify(value ?? '').slice(1, -1);
}

function noteOf({ overridden_variable: overridden, aliased_variable: aliased, mount_path: file }: Variable): string {
  const notes = [
    ...(overridden === undefined ? [] : [`overrides the ${overridden.scope.toLowerCase()}'s`]),
    ...(aliased === undefined ? [] : [`alias of ${aliased.key}`]),
    ...(file === undefined || file === null || file === '' ? [] : [`file ${file}`]),
  ];
  return notes.join(', ');
}

type SetFlags = ScopeFlags & FollowFlags & { readonly deploy: boolean };
const setFlags = { ...scopeFlags, ...followFlags, deploy: flags.flag('Deploy the service afterwards') };

export const set = command<SetFlags>({
  brief: 'Set variables; the next deployment applies them',
  examples: [
    ['HOST=0.0.0.0 --service api', 'set one'],
    ['HOST=0.0.0.0 PORT=8080 --service api --deploy', 'set two, and deploy'],
  ],
  flags: setFlags,
  aliases: scopeAliases,
  arguments: [{ name: 'KEY=value', brief: 'A variable with its value', count: 'many' }],
  run: async (cli, given, words) => {
    if (words.length === 0) throw misused('Which variable?', 'davit variables set KEY=value --service api');
    const values = new Map(words.map(toPair));
    return write(cli, given, values, false);
  },
});

function toPair(word: string): [string, string] {
  const at = word.indexOf('=');
  if (at < 1) throw misused(`${word} is not of the form KEY=value.`);
  return [word.slice(0, at), word.slice(at + 1)];
}

/** Writes variables or secrets: all of a service at once, those of a wider scope one after the other. */
async function write(
  cli: Cli,
  given: SetFlags,
  values: ReadonlyMap<string, string>,
  isSecret: boolean,
): Promise<ExitCode | undefined> {
  const owner = await ownerOf(cli, given);
  const { site, service, scope, parentId, name } = owner;
  announce(cli, site.location);
  if (service === null || service.type === 'DATABASE') {
    for (const [key, value] of values) {
      const body = { key, value, is_secret: isSecret, variable_scope: scope, variable_parent_id: parentId };
      await site.client.call('createVariable', { body });
    }
  } else {
    await importAll(owner, values, isSecret);
  }
  const noun = isSecret ? 'secret' : 'variable';
  cli.out.talk(`  ${cli.out.mark('ok')} ${plural(values.size, noun)} of ${name} set: ${[...values.keys()].join(', ')}`);
  return finish(cli, owner, given);
}

async function importAll({ site, service, scope }: Owner, values: ReadonlyMap<string, string>, isSecret: boolean): Promise<void> {
  if (service === null || service.type === 'DATABASE') return;
  const vars = [...values].map(([key, value]) => ({ name: key, value, scope, is_secret: isSecret }));
  const query = { service_id: service.id, service_type: service.type };
  const body = { overwrite: true, vars };
  const { successful_imported_variables: written } = await site.client.call('importEnvironmentVariables', { query, body });
  const skipped = vars.filter((one) => !written.some((there) => there.name === one.name)).map((one) => one.name);
  if (skipped.length > 0) {
    const why = isSecret ? 'it is a variable, not a secret, or an alias' : 'it is a secret, or an alias';
    throw new CliError(`${skipped.join(', ')} was not set: ${why}.`, { advice: ['Remove it first: davit variables unset KEY'] });
  }
}

async function finish(cli: Cli, { site, service }: Owner, given: SetFlags): Promise<ExitCode | undefined> {
  if (!given.deploy) {
    if (service !== null) cli.out.talk(`  The next deployment applies it: davit deploy ${service.name}`);
    return undefined;
  }
  const params = { environmentId: site.location.environment.id };
  if (service === null) {
    const { deployment_request_id: id } = await site.client.call('deployEnvironment', { params });
    return followDeployment(cli, site, id, given);
  }
  const { deployment_request_id: id } = await site.client.call('deployAllServices', { params, body: deployBody([service], {}) });
  return followDeployment(cli, site, id, given);
}

export const unset = command<SetFlags>({
  brief: 'Remove variables or secrets',
  examples: [['DEBUG --service api', 'remove one; what it overrode applies again']],
  flags: setFlags,
  aliases: scopeAliases,
  arguments: [{ name: 'KEY', brief: 'A variable or secret', count: 'many' }],
  run: async (cli, given, keys) => {
    if (keys.length === 0) throw misused('Which variable?', 'davit variables unset KEY --service api');
    const owner = await ownerOf(cli, given);
    const all = await readVariables(owner);
    const found = keys.map((key) => {
      const one = all.find((variable) => variable.key === key && variable.scope === owner.scope);
      if (one !== undefined) return one;
      const elsewhere = all.find((variable) => variable.key === key);
      const advice =
        elsewhere === undefined
          ? []
          : [`It is of the ${elsewhere.scope.toLowerCase()}: --scope ${elsewhere.scope.toLowerCase()}`];
      throw misused(`${owner.name} has no variable ${key} of its own.`, ...advice);
    });
    announce(cli, owner.site.location);
    for (const { id } of found) await owner.site.client.call('deleteVariable', { params: { variableId: id } });
    cli.out.talk(`  ${cli.out.mark('ok')} Removed ${keys.join(', ')}.`);
    return finish(cli, owner, given);
  },
});

export const importFile = command<SetFlags>({
  brief: 'Set all variables of a .env file',
  examples: [
    ['.env --service api', 'set what the file says, leave others as they are'],
    ['- --service api < .env', 'read the file from stdin'],
  ],
  flags: setFlags,
  aliases: scopeAliases,
  arguments: [{ name: 'file', brief: 'The file; - is stdin', count: 'one' }],
  run: async (cli, given, [file = '']) => {
    const values = parseEnvironmentFile(await readInput(cli, file));
    if (values.size === 0) throw misused(`${file} has no variables.`);
    return write(cli, given, values, false);
  },
});

async function readInput(cli: Cli, file: string): Promise<string> {
  if (file === '-') return cli.readStdin();
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw misused(`${file} cannot be read (${codeOf(error)}).`);
  }
}

export const pull = command<ScopeFlags & { readonly output?: string }>({
  brief: 'Print the variables as a .env file; secrets as comments, as their values are not readable',
  examples: [
    ['--service api > .env', 'work with the same variables on this machine'],
    ['--service api --output .env', 'write the file, for this user only'],
  ],
  flags: { ...scopeFlags, output: flags.text('Write this file instead of stdout', 'file') },
  aliases: scopeAliases,
  run: async (cli, given) => {
    const found = (await readVariables(await ownerOf(cli, given))).filter(({ scope }) => scope !== 'BUILT_IN');
    if (given.json) return cli.out.json({ results: found });
    const lines = found
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ key, value, is_secret: isSecret }) => (isSecret ? `# ${key} is a secret` : environmentLine(key, value ?? '')));
    if (given.output === undefined) return lines.forEach((line) => cli.out.data(line));
    await writePrivate(given.output, `${lines.join('\n')}\n`);
    cli.out.talk(`  ${cli.out.mark('ok')} ${plural(found.length, 'variable')} written to ${given.output}`);
  },
});

/** Writes a file that only its user can read, also if it was there before with another mode. */
async function writePrivate(name: string, text: string): Promise<void> {
  const file = await open(name, 'w', 0o600);
  try {
    if ((await file.stat()).isFile()) await file.chmod(0o600);
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

interface Change {
  readonly key: string;
  readonly change: string;
  readonly from: string | null;
  readonly to: string | null;
}

export const diff = command<ScopeFlags>({
  brief: 'Compare a .env file with the variables on the server',
  examples: [['.env --service api', 'what an import of the file would change']],
  flags: scopeFlags,
  aliases: scopeAliases,
  arguments: [{ name: 'file', brief: 'The file; - is stdin', count: 'one' }],
  run: async (cli, given, [file = '']) => {
    const here = parseEnvironmentFile(await readInput(cli, file));
    const there = new Map((await readVariables(await ownerOf(cli, given))).map((one) => [one.key, one]));
    const changes = [...here].flatMap(([key, value]): Change[] => {
      const known = there.get(key);
      if (known === undefined) return [{ key, change: 'added', from: null, to: value }];
      if (known.is_secret) return [{ key, change: 'secret', from: null, to: null }];
      return known.value === value ? [] : [{ key, change: 'changed', from: known.value, to: value }];
    });
    const missing = [...there.values()]
      .filter((one) => one.scope !== 'BUILT_IN' && !here.has(one.key))
      .map((one) => ({ key: one.key, change: 'only on the server', from: one.value, to: null }));
    if (given.json) return cli.out.json({ results: [...changes, ...missing] });
    for (const { key, change, from, to } of changes) {
      if (change === 'added') cli.out.data(`+ ${key}=${to}`);
      else if (change === 'secret') cli.out.data(`? ${key} is a secret on the server, which cannot be compared`);
      else cli.out.data(`- ${key}=${from}\n+ ${key}=${to}`);
    }
    for (const { key } of missing) cli.out.data(`  ${key} is only on the server`);
    if (changes.length === 0) cli.out.talk('  Nothing would change.');
  },
});

export const setSecret = command<SetFlags>({
  brief: 'Set a secret, whose value is read from stdin or asked for',
  details: 'The value is never on the command line, where others could read it, and never shown again.',
  examples: [
    ['DATABASE_PASSWORD --service api < password.txt', 'from a file; a line break at its end is left out'],
    ['DATABASE_PASSWORD --service api', 'type it; it does not appear'],
  ],
  flags: setFlags,
  aliases: scopeAliases,
  arguments: [{ name: 'KEY', brief: 'The name of the secret', count: 'one' }],
  run: async (cli, given, [key = '']) => {
    if (key.includes('=')) throw misused('Leave the value out: it is read from stdin.', `davit secrets set ${key.split('=')[0]}`);
    const value = cli.isInteractive ? await cli.askSecret(`  ${key}: `) : (await cli.readStdin()).replace(/\r?\n$/, '');
    if (value === '') throw misused('The value is empty.');
    return write(cli, given, new Map([[key, value]]), true);
  },
});
