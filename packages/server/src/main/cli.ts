import { parseArgs } from 'node:util';
import { isAppError, messageOf } from '@davit/base';
import type { Configuration } from '../configuration.ts';
import { loggedError } from './log-errors.ts';
import { LogOutput } from './log-output.ts';
import { programVersion } from './version.ts';

const help = `davit: a self-hosted deployment platform

  davit serve                         run the server in the foreground
  davit migrate                       bring the database to this version's schema
  davit token create <name> [--expires <time>]
                                      create a token of the instance administrator; shown once
  davit token list                    list these tokens, without their values
  davit token revoke <id or name>     revoke one; it stops working at once
  davit account list                  list the accounts that have a password
  davit account create <email>        create an account; prints the link with which the person sets the password
  davit account reset <email>         print a link with which the person sets a new password
  davit account remove-second-factor <email>
                                      let the person sign in with the password alone
  davit organization list             list the organizations and their restrictions
  davit organization restrict <id or name> [<restriction>]
                                      block deployments. NO_CREDIT_CARD (default): on managed clusters only;
                                      any other word: everywhere
  davit organization allow <id or name>
                                      lift the restriction
  davit export <file> [--with-volumes]
                                      write the whole instance to a file, encrypted with DAVIT_EXPORT_PASSPHRASE;
                                      --with-volumes: with the files of volumes, whose services must be stopped
  davit import <file>                 load an export into a new instance, before its first start
  davit disk [collect]                show what Davit keeps on the disk; collect: remove what is not needed
  davit cluster manifest [--namespace <name>] [--name <name>] [--charts]
                                      print the account that Davit needs on a Kubernetes cluster, for kubectl apply;
                                      --charts: with the permissions to deploy Helm charts there
  davit doctor                        check all that Davit needs, and report what is wrong and what to do
  davit --version                     print the version of the program

Commands that call a server, such as davit login, status, deploy and logs: davit cli --help lists them (docs/cli.md).

Settings are environment variables (DAVIT_HOME, DAVIT_PORT, DATABASE_URL, ...): docs/operate.md lists them.
`;

const failed = 1;
const misused = 2;

/** Runs a command line; returns the exit code. Heavy modules are loaded by the command that needs them. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args);
  const [command, ...rest] = positionals;
  if (values.help === true || command === 'help') return print(help);
  if (values.version === true || command === 'version') return print(await programVersion());
  if (values.fault !== undefined) return misuse(values.fault);
  try {
    switch (command) {
      case 'serve':
        return await serveForeground(await configuration());
      case 'migrate':
        return await (await import('./commands.ts')).migrateCommand(await configuration(), print);
      case 'doctor':
        return await (await import('./doctor/doctor.ts')).doctor(process.env, print);
      case 'disk':
        return await disk(rest);
      case 'export':
      case 'import':
        return await move(command, rest, values['with-volumes'] === true);
      case 'token':
        return await token(rest, values.expires);
      case 'account':
        return await account(rest);
      case 'organization':
        return await organization(rest);
      case 'cluster':
        return await cluster(rest, values);
      case undefined:
        return misuse('which command?');
      default:
        return misuse(`there is no command ${JSON.stringify(command)}`);
    }
  } catch (error) {
    if (!isAppError(error)) throw error;
    process.stderr.write(`davit: ${error.message}\n`);
    return failed;
  }
}

/** Reads the settings. Its modules take a second to load, which version, help and misuse do not have to wait for. */
async function configuration(): Promise<Configuration> {
  return (await import('./config.ts')).readConfiguration();
}

interface Parsed {
  readonly values: {
    readonly help?: boolean;
    readonly version?: boolean;
    readonly expires?: string;
    readonly 'with-volumes'?: boolean;
    readonly namespace?: string;
    readonly name?: string;
    readonly charts?: boolean;
    readonly fault?: string;
  };
  readonly positionals: readonly string[];
}

function parse(args: readonly string[]): Parsed {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        expires: { type: 'string' },
        'with-volumes': { type: 'boolean' },
        namespace: { type: 'string' },
        name: { type: 'string' },
        charts: { type: 'boolean' },
      },
    });
  } catch (error) {
    return { values: { fault: messageOf(error) }, positionals: [] };
  }
}

async function token(args: readonly string[], expires: string | undefined): Promise<number> {
  const [verb, name] = args;
  if (verb === 'list') return (await import('./commands.ts')).listTokens(await configuration(), print);
  if (name === undefined || (verb !== 'create' && verb !== 'revoke')) return misuse('token create|revoke <name>, or token list');
  const commands = await import('./commands.ts');
  if (verb === 'revoke') return commands.revokeToken(await configuration(), name, print);
  const until = expires === undefined ? null : new Date(expires);
  if (until !== null && !(until.getTime() > Date.now())) {
    return misuse('--expires must be a time in the future, such as 2031-01-31T12:00:00Z');
  }
  return commands.createToken(await configuration(), { name, expiresAt: until?.toISOString() ?? null }, print);
}

async function account(args: readonly string[]): Promise<number> {
  const [verb, email, ...others] = args;
  const commands = await import('./account-commands.ts');
  if (verb === 'list' && email === undefined) return commands.listAccountsCommand(await configuration(), print);
  if (email === undefined || others.length > 0 || !isAccountVerb(verb)) {
    return misuse('account create|reset|remove-second-factor <email>, or account list');
  }
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) return misuse(`${JSON.stringify(email)} is no e-mail address`);
  const command = {
    create: commands.createAccountCommand,
    reset: commands.resetAccountCommand,
    'remove-second-factor': commands.removeSecondFactorCommand,
  }[verb];
  return command(await configuration(), email, print);
}

function isAccountVerb(verb: string | undefined): verb is 'create' | 'reset' | 'remove-second-factor' {
  return verb === 'create' || verb === 'reset' || verb === 'remove-second-factor';
}

async function organization(args: readonly string[]): Promise<number> {
  const [verb, idOrName, word] = args;
  if (verb === 'list') return (await import('./commands.ts')).listOrganizations(await configuration(), print);
  if (idOrName === undefined || (verb !== 'restrict' && verb !== 'allow') || (verb === 'allow' && word !== undefined)) {
    return misuse('organization restrict <id or name> [<restriction>], organization allow <id or name>, or organization list');
  }
  if (word !== undefined && !/^[A-Z][A-Z0-9_]{0,63}$/.test(word)) {
    return misuse('a restriction is a word of capital letters, digits and _, such as NO_CREDIT_CARD or UNPAID');
  }
  const restriction = verb === 'allow' ? null : (word ?? 'NO_CREDIT_CARD');
  return (await import('./commands.ts')).restrictOrganization(await configuration(), { idOrName, restriction }, print);
}

async function move(command: 'export' | 'import', [file, ...others]: readonly string[], withVolumes: boolean): Promise<number> {
  if (file === undefined || others.length > 0) return misuse(`${command} <file>`);
  if (command === 'export')
    return (await import('./move/export.ts')).exportInstance(await configuration(), { file, withVolumes }, print);
  return (await import('./move/import.ts')).importInstance(await configuration(), file, print);
}

async function cluster(args: readonly string[], { namespace, name, charts }: Parsed['values']): Promise<number> {
  if (args.length !== 1 || args[0] !== 'manifest') return misuse('cluster manifest');
  const { manifestFault, printManifest } = await import('./cluster-manifest.ts');
  const names = { namespace: namespace ?? 'davit-system', name: name ?? 'davit' };
  const fault = manifestFault(names);
  return fault === null ? printManifest(names, charts === true, print) : misuse(fault);
}

async function disk(args: readonly string[]): Promise<number> {
  if (args.length > 1 || (args[0] !== undefined && args[0] !== 'collect')) return misuse('disk, or disk collect');
  const command = await import('./disk.ts');
  return command.disk(await configuration(), { collects: args[0] === 'collect' }, print);
}

function print(text: string): number {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  return 0;
}

function misuse(message: string): number {
  process.stderr.write(`davit: ${message}\n\n${help}`);
  return misused;
}

/** Serves until a signal. A second signal, or a shutdown that takes too long, ends the process at once. */
async function serveForeground(config: Configuration): Promise<number> {
  const began = performance.now();
  const { serve } = await import('./serve.ts');
  const signaled = nextSignal();
  const serving = await serve(config, (line) => print(`davit: ${line}`));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  print(serving.address === null ? `davit works (${seconds} s)` : `davit answers at ${serving.address} (${seconds} s)`);
  const isDisplaced = await Promise.race([signaled.then(() => false), serving.displaced.then(() => true)]);
  if (isDisplaced) process.stderr.write('davit: another davit serve has taken this state folder; this one exits\n');
  const force = (): never => process.exit(failed);
  process.once('SIGINT', force).once('SIGTERM', force);
  // Requests get stopWithinSeconds, the rest of the shutdown 10 more seconds.
  setTimeout(force, (config.stopDelaySeconds + config.stopWithinSeconds + 10) * 1000).unref();
  await serving.close();
  return isDisplaced ? failed : 0;
}

function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      process.removeListener('SIGINT', end).removeListener('SIGTERM', end);
      resolve();
    };
    process.on('SIGINT', end).on('SIGTERM', end);
  });
}

/** Logs the error and ends the process. Node.js itself would print all properties of the error, including values. */
function endWith(error: unknown): never {
  const line = { level: 60, time: Date.now(), err: loggedError(error), msg: 'davit exits after an unexpected failure' };
  new LogOutput(2).write(`${JSON.stringify(line)}\n`);
  process.exit(failed);
}

if (import.meta.main) process.on('uncaughtException', endWith);
if (import.meta.main) process.exitCode = await run(process.argv.slice(2));
