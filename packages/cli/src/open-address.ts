import { spawn } from 'node:child_process';
import type { Cli } from './cli.ts';

const programs: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Opens an address in the browser, if there is one. The address was shown before, so that a failure is no error. */
export function openAddress(cli: Cli, address: string): void {
  const [program = 'xdg-open', ...before] = programs[process.platform] ?? [cli.environment['BROWSER'] || 'xdg-open'];
  const child = spawn(program, [...before, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined).unref();
}
