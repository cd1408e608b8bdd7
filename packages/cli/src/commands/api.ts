import { readFile } from 'node:fs/promises';
import type { Client, StreamOperationId } from '@davit/client';
import { operationList, type Operation } from '@davit/contract';
import type { Cli, ServerFlags, Session } from '../cli.ts';
import { command, flags, serverAliases, serverFlags } from '../command.ts';
import { CliError, codeOf, exitCodes, messageOf, misused } from '../errors.ts';
import { nearest } from '../nearest.ts';
import { organizationOf } from '../location.ts';

type ApiFlags = ServerFlags & { readonly body?: string; readonly list?: string };

/** Values that a linked folder, a flag or a variable knows, by the name of the path parameter. */
type Known = Readonly<Record<string, string | undefined>>;

export const api = command<ApiFlags>({
  brief: 'Call any operation of the API',
  details:
    'Ids in the path and parameters of the query are given as name=value. Ids of the linked organization, project, environment and service need not be given. The answer is printed as JSON; a stream prints one event a line until it ends.',
  examples: [
    ['--list deploy', 'the operations whose names or titles contain a word'],
    ['listProject', 'call one'],
    ['getApplication applicationId=0a1b2c3d-…', 'with an id in its path'],
    [`createProject --body '{"name": "shop"}'`, 'with a body'],
    ['createVariable --body - < variable.json', 'with a body from stdin'],
  ],
  flags: {
    ...serverFlags,
    body: flags.text('The body as JSON; @file reads a file, - reads stdin', 'json'),
    list: flags.text('List the operations that contain this word', 'word'),
  },
  aliases: serverAliases,
  arguments: [{ name: 'operation [name=value]', brief: 'The operation, with its ids and parameters', count: 'many' }],
  run: async (cli, given, [id, ...words]) => {
    if (given.list !== undefined) return list(cli, given.list);
    if (id === undefined) throw misused('Which operation?', 'davit api --list project');
    const operation = operationList.find((one) => one.id === id);
    if (operation === undefined) {
      const near = nearest(
        id,
        operationList.map((one) => one.id),
      );
      throw misused(`There is no operation ${id}.`, near.length === 0 ? 'davit api --list WORD' : `${near.join(' or ')}?`);
    }
    const body = given.body === undefined ? undefined : await readBody(cli, given.body, operation);
    const session = await cli.session(given);
    const known = await knownIds(cli, session, given, operation);
    const input = { ...toInput(operation, words, known), ...(body !== undefined && { body }) };
    if (operation.events !== undefined) return stream(cli, session.client, operation, input);
    const answer = await callAny(session.client, operation.id, input);
    if (typeof answer === 'string') cli.out.raw(answer);
    else if (answer !== undefined) cli.out.json(answer);
  },
});

function list(cli: Cli, word: string): void {
  const wanted = word.toLowerCase();
  const found = operationList.filter(({ id, summary }) => `${id} ${summary}`.toLowerCase().includes(wanted));
  for (const { id, path, method, summary } of found) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `${name}=`);
    cli.out.data(`${[id, ...names].join(' ')}${method === 'GET' ? '' : '  (changes something)'}\n    ${summary}`);
  }
  if (found.length === 0) throw misused(`No operation contains ${word}.`);
}

async function knownIds(cli: Cli, session: Session, given: ApiFlags, { path }: Operation): Promise<Known> {
  const { link, context } = session;
  const named = given.organization ?? cli.environment['DAVIT_ORGANIZATION'];
  // A flag or variable may have the name of the organization: the path needs its id.
  const isNamed = named !== undefined && path.includes('{organizationId}');
  const organization = isNamed ? (await organizationOf(cli, session, given)).id : undefined;
  const service = link?.service ?? null;
  const ofKind = service === null ? {} : { [`${service.type.toLowerCase()}Id`]: service.id };
  return {
    organizationId: organization ?? link?.organization.id ?? context.organization?.id,
    projectId: link?.project.id,
    environmentId: link?.environment.id,
    serviceId: service?.id,
    ...ofKind,
  };
}

/** Sorts the words into ids of the path and parameters of the query. */
export function toInput(operation: Operation, words: readonly string[], known: Known) {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => (name === undefined ? [] : [name]));
  const given = new Map(
    words.map((word) => {
      const at = word.indexOf('=');
      if (at < 1) throw misused(`${word} is not of the form name=value.`);
      return [word.slice(0, at), word.slice(at + 1)] as const;
    }),
  );
  const params: Record<string, string> = {};
  for (const name of names) {
    const value = given.get(name) ?? known[name];
    if (value === undefined) throw misused(`${operation.id} needs ${name}=…`);
    params[name] = value;
    given.delete(name);
  }
  const inQuery = new Set([...Object.keys(propertiesOf(operation.query)), 'page', 'pageSize']);
  for (const name of given.keys()) {
    if (!inQuery.has(name))
      throw misused(`${operation.id} has no parameter ${name}.`, `It has: ${[...names, ...inQuery].join(', ')}`);
  }
  return { params, query: Object.fromEntries(given) };
}

function propertiesOf(schema: object | undefined): object {
  return schema !== undefined && 'properties' in schema && typeof schema.properties === 'object' && schema.properties !== null
    ? schema.properties
    : {};
}

async function readBody(cli: Cli, source: string, { id, mediaType }: Operation): Promise<unknown> {
  const text = source === '-' ? await cli.readStdin() : source.startsWith('@') ? await readText(source.slice(1)) : source;
  if (mediaType !== undefined) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw misused(`The body of ${id} is not JSON: ${messageOf(error)}`);
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw misused(`${file} cannot be read (${codeOf(error)}).`);
  }
}

interface AnyInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

function callAny(client: Client, id: string, input: AnyInput): Promise<unknown> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the words are the user's; the server checks them
  return (client.call as (id: string, input: AnyInput) => Promise<unknown>)(id, input);
}

async function stream(
  cli: Cli,
  client: Client,
  { id }: Operation,
  input: AnyInput,
): Promise<typeof exitCodes.interrupted | void> {
  const interrupt = new AbortController();
  const onInterrupt = (): void => interrupt.abort();
  process.once('SIGINT', onInterrupt);
  const options = { ...input, signal: AbortSignal.any([interrupt.signal, cli.out.closed]) };
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only operations with events come here
    for await (const received of client.stream(id as StreamOperationId, options as never)) {
      cli.out.data(JSON.stringify(received));
      if (received.event === 'END' && received.data.code !== 'DONE') throw new CliError(received.data.message);
    }
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    return exitCodes.interrupted;
  } finally {
    process.removeListener('SIGINT', onInterrupt);
  }
}
