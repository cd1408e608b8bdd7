import { buildApplication, buildRouteMap, ExitCode, proposeCompletions, run, text_en, type Application } from '@stricli/core';
import { Cli, type Surroundings } from './cli.ts';
import { api } from './commands/api.ts';
import { completion } from './commands/completion.ts';
import * as database from './commands/database.ts';
import { deploy, restart, rollback, scale, stop } from './commands/deploy.ts';
import * as domains from './commands/domains.ts';
import { logs } from './commands/logs.ts';
import { metrics, open } from './commands/look.ts';
import { link } from './commands/link.ts';
import { listContexts, login, logout, useContext, whoami } from './commands/sign-in.ts';
import { diff, explain, history, ps, status } from './commands/status.ts';
import * as token from './commands/token.ts';
import { up } from './commands/up.ts';
import * as variables from './commands/variables.ts';
import { exitCodes, messageOf } from './errors.ts';
import { version } from './version.ts';

const routes = buildRouteMap({
  routes: {
    login,
    logout,
    whoami,
    context: buildRouteMap({
      routes: { list: listContexts, use: useContext },
      docs: { brief: 'Servers that you are signed in to' },
    }),
    link,
    up,
    status,
    ps,
    deploy,
    logs,
    history,
    diff,
    explain,
    rollback,
    restart,
    stop,
    scale,
    open,
    metrics,
    variables: buildRouteMap({
      routes: {
        list: variables.list,
        set: variables.set,
        unset: variables.unset,
        import: variables.importFile,
        pull: variables.pull,
        diff: variables.diff,
      },
      docs: { brief: 'Variables of services, environments and projects' },
    }),
    secrets: buildRouteMap({ routes: { set: variables.setSecret }, docs: { brief: 'Secrets, whose values are never shown' } }),
    domains: buildRouteMap({
      routes: { list: domains.list, add: domains.add, remove: domains.remove },
      docs: { brief: 'Domains of services' },
    }),
    database: buildRouteMap({
      routes: { backup: database.backup, restore: database.restore, url: database.url },
      docs: { brief: 'Backups and addresses of databases' },
    }),
    token: buildRouteMap({
      routes: { list: token.list, create: token.create, revoke: token.revoke },
      docs: { brief: 'API tokens of the organization' },
    }),
    api,
    completion,
  },
  docs: {
    brief: 'The command line of Davit',
    fullDescription: `Begin with: davit login <address of your server>

Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 3 declined, 4 not signed in,
5 the deployment failed, 6 waited too long, 64 wrong words, 130 interrupted.`,
  },
});

/** The command line: all commands with their help. */
export const application: Application<Cli> = buildApplication(routes, {
  name: 'davit',
  versionInfo: { currentVersion: version },
  scanner: { caseStyle: 'allow-kebab-for-camel' },
  documentation: { disableAnsiColor: true, useAliasInUsageLine: false, onlyRequiredInUsageLine: true },
  localization: {
    text: {
      ...text_en,
      noCommandRegisteredForInput: ({ input, corrections }) => {
        const near = corrections.length === 0 ? '' : ` ${corrections.map((word) => word.replaceAll('`', '')).join(', ')}?`;
        return `davit: There is no command ${input}.${near}${near === '' ? ' All of them: davit --help' : ''}`;
      },
      exceptionWhileParsingArguments: (error) => `davit: ${messageOf(error)}`,
    },
  },
});

/** Runs a command line; returns the exit code. */
export async function runProgram(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const cli = new Cli(surroundings);
  if (words[0] === '__complete') {
    for (const { completion } of await proposeCompletions(application, words.slice(1), cli)) cli.out.data(completion);
    return exitCodes.done;
  }
  await run(application, words, cli);
  await cli.out.flush();
  if (cli.out.failure !== null) {
    cli.out.talk(`davit: the output cannot be written: ${cli.out.failure.message}`);
    return exitCodes.failed;
  }
  const code = cli.process.exitCode;
  if (code === ExitCode.UnknownCommand || code === ExitCode.InvalidArgument) return exitCodes.misused;
  return typeof code === 'number' && code >= 0 ? code : exitCodes.failed;
}
