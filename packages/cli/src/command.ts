import { buildCommand, type Aliases, type BaseFlags, type Command, type FlagParametersForType } from '@stricli/core';
import type { Cli } from './cli.ts';
import { exitCodes, explain, misused, type ExitCode } from './errors.ts';
import { wrap } from './output/text.ts';

/** An argument without a flag. */
export interface Argument {
  readonly name: string;
  readonly brief: string;
  /** How often it stands: once, once or not at all, or any number of times. */
  readonly count: 'one' | 'optional' | 'many';
}

interface Declaration<Flags extends Readonly<Partial<Record<keyof Flags, unknown>>>> {
  readonly brief: string;
  /** Further sentences for the help. */
  readonly details?: string;
  /** The words after the name of the command, and their effect. At least one example. */
  readonly examples: readonly (readonly [string, string])[];
  readonly flags: FlagParametersForType<Flags, Cli>;
  readonly aliases?: Aliases<keyof Flags & string>;
  readonly arguments?: readonly Argument[];
  /** Returns the exit code, if it is not 0. Errors are reported by the caller. */
  readonly run: (cli: Cli, flags: Flags, words: readonly string[]) => Promise<ExitCode | undefined | void>;
}

/** Makes a command of its declaration. Help, completion and docs/cli.md are written from the same declaration. */
export function command<Flags extends Readonly<Partial<Record<keyof Flags, unknown>>>>(
  declaration: Declaration<Flags>,
): Command<Cli> {
  const { brief, details, examples, run } = declaration;
  const described = declaration.arguments ?? [];
  const many = described.find(({ count }) => count === 'many');
  const parse = (word: string): string => word;
  const toParameter = ({ name, brief, count }: Argument) => ({
    brief,
    placeholder: name,
    parse,
    ...(count === 'optional' && { optional: true as const }),
  });
  const positional =
    many === undefined
      ? { kind: 'tuple', parameters: described.map(toParameter) }
      : { kind: 'array', parameter: toParameter(many) };
  const switches = Object.entries<{ kind: string }>(declaration.flags).filter(([, { kind }]) => kind === 'boolean');
  // Help shows no default of a switch: it is off unless it is given.
  const shown = Object.fromEntries(
    switches.map(([name, { ...rest }]) => [name, { ...rest, default: undefined, optional: true }]),
  );
  const off = Object.fromEntries(switches.map(([name]) => [name, false]));
  return buildCommand<BaseFlags, readonly string[], Cli>({
    docs: {
      brief,
      ...(details !== undefined && { fullDescription: wrap(`${brief}. ${details}`, 80).join('\n') }),
      customUsage: examples.map(([input, brief]) => ({ input, brief })),
    },
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the flags are checked by the type of the declaration
    parameters: { flags: { ...declaration.flags, ...shown }, aliases: declaration.aliases, positional } as never,
    func: async function (this: Cli, flags, ...words) {
      const given = words.filter((word) => word !== undefined);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are the flags that the parameters describe
      const all = { ...off, ...flags } as Flags;
      const code = await perform(this, () => run(this, all, given));
      this.process.exitCode = code;
    },
  });
}

/** Runs a command; returns its exit code, and reports what failed. */
async function perform(cli: Cli, action: () => Promise<ExitCode | undefined | void>): Promise<ExitCode> {
  try {
    return (await action()) ?? exitCodes.done;
  } catch (error) {
    // Who closed stdout has read enough.
    if (cli.out.closed.aborted && cli.out.failure === null) return exitCodes.done;
    const { message, code, advice, exitCode } = explain(error, cli.server);
    const { out } = cli;
    out.talk(`davit: ${message}${code === null ? '' : `  ${out.style('red', code)}`}`);
    for (const line of advice) out.talk(`  ${line}`);
    return exitCode;
  }
}

const text = (brief: string, placeholder: string) =>
  ({ kind: 'parsed', parse: (input: string) => input, optional: true, brief, placeholder }) as const;
const flag = (brief: string) => ({ kind: 'boolean', brief, default: false, withNegated: false }) as const;

/** Flags that several commands have. */
export const flags = {
  text,
  flag,
  number: (brief: string, placeholder: string) =>
    ({ kind: 'parsed', parse: positiveNumber, optional: true, brief, placeholder }) as const,
  seconds: (brief: string, placeholder = 'time') =>
    ({ kind: 'parsed', parse: secondsOf, optional: true, brief, placeholder }) as const,
};

export const serverFlags = {
  context: text('Use this context (DAVIT_CONTEXT)', 'name'),
  organization: text('In this organization (DAVIT_ORGANIZATION)', 'name'),
  json: flag('Print the answer of the API as JSON'),
  quiet: flag('Print ids only'),
};

export const locationFlags = {
  ...serverFlags,
  project: text('In this project (DAVIT_PROJECT)', 'name'),
  environment: text('In this environment, or project/environment (DAVIT_ENVIRONMENT)', 'name'),
};

export const followFlags = {
  detach: flag('Do not wait for the deployment; print its id'),
  timeout: {
    kind: 'parsed',
    parse: secondsOf,
    optional: true,
    brief: 'Wait at most so long, for example 10m (exit code 6)',
    placeholder: 'time',
  } as const,
  log: flag('Print the log of the deployment'),
  jsonLines: flag('Print each event of the deployment as a line of JSON'),
};

export const locationAliases = { e: 'environment', p: 'project', o: 'organization', q: 'quiet' } as const;
export const serverAliases = { o: 'organization', q: 'quiet' } as const;

/** The argument that names a service of an environment. */
export const serviceArgument = {
  name: 'service',
  brief: 'The service. Default: that of this folder',
  count: 'optional',
} as const;

/** Parses a whole number that is not negative. */
function positiveNumber(input: string): number {
  if (!/^\d{1,9}$/.test(input)) throw misused(`${JSON.stringify(input)} is no whole number.`);
  return Number(input);
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Parses a duration such as 90, 90s, 15m, 2h or 7d; returns seconds. */
export function secondsOf(input: string): number {
  const [, number, unit = 's'] = /^(\d{1,6})([smhd])?$/.exec(input) ?? [];
  if (number === undefined) throw misused(`${JSON.stringify(input)} is no duration such as 30s, 15m, 2h or 7d.`);
  return Number(number) * (units[unit] ?? 1);
}
