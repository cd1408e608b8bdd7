import type { Cli } from './cli.ts';

const programs: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  // A shell would run what follows an & in the address.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens an address in the browser, if there is one. The address was shown before, so that a failure is no error. It
 * comes from the server: only an address of the web is opened, not a file or another program.
 */
export function openAddress(cli: Cli, address: string): void {
  const url = webAddress(address);
  if (url === null) return;
  const [program = 'xdg-open', ...before] = programs[process.platform] ?? [cli.environment['BROWSER'] || 'xdg-open'];
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn(program, [...before, url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined).unref();
}

/** Returns an address of the web with its special characters encoded; null if it is something else. */
export function webAddress(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
}
