import { isAppError, messageOf } from '@davit/base';
import type { Print } from '../commands.ts';
import { readConfiguration } from '../config.ts';
import type { Configuration } from '../../configuration.ts';
import { lookAtDatabase, type DatabaseState } from './database.ts';
import { fail, type Finding } from './finding.ts';
import { lookAtConfiguration, lookAtEngine, lookAtPrograms, lookAtStateFolder } from './machine.ts';
import { lookAtApi, lookAtDns, lookAtGateway } from './network.ts';

interface Check {
  readonly name: string;
  readonly look: () => Promise<readonly Finding[]>;
}

/**
 * Checks everything that Davit needs, while it runs or when it cannot start, and changes nothing. Reports what is wrong
 * and what to do. Returns exit code 1 if any check fails, and 0 if there are only warnings.
 */
export async function doctor(environment: NodeJS.ProcessEnv, print: Print): Promise<number> {
  let config: Configuration;
  try {
    config = readConfiguration(environment);
  } catch (error) {
    if (!isAppError(error)) throw error;
    report('configuration', fail(error.message, 'Nothing else can be checked until then.'), print);
    return 1;
  }
  return look(config, print);
}

async function look(config: Configuration, print: Print): Promise<number> {
  let state: DatabaseState = { isServing: false };
  const checks: Check[] = [
    { name: 'configuration', look: () => lookAtConfiguration(config) },
    { name: 'state folder', look: () => lookAtStateFolder(config) },
    { name: 'database', look: () => lookAtDatabase(config, (known) => (state = known)) },
    { name: 'programs', look: () => lookAtPrograms(config) },
    { name: 'container engine', look: () => lookAtEngine(config) },
    { name: 'gateway', look: () => lookAtGateway(config) },
    { name: 'dns', look: () => lookAtDns(config) },
    { name: 'api', look: () => lookAtApi(config, state.isServing) },
  ];
  let failures = 0;
  for (const { name, look: find } of checks) {
    for (const finding of await found(find)) {
      report(name, finding, print);
      if (finding.grade === 'FAIL') failures += 1;
    }
  }
  return failures === 0 ? 0 : 1;
}

/** Runs a check. A check that throws becomes a finding, so that the other checks still run. */
async function found(find: Check['look']): Promise<readonly Finding[]> {
  try {
    return await find();
  } catch (error) {
    return [fail(messageOf(error), 'This is unexpected; please report it.')];
  }
}

function report(name: string, { grade, found: words, advice }: Finding, print: Print): void {
  print(`${grade.padEnd(5)} ${name}: ${words}`);
  if (advice !== undefined) print(`      ${advice}`);
}
