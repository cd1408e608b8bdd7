import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { findProgram } from '@davit/drivers';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createShop, type Shop } from '../console/shop.ts';
import { buildCommandLine, openTerminal, program, type Terminal } from './terminal.ts';

/*
 * Floors of the command line on an idle machine: 60 ms for --version beyond bare Node.js, 120 ms for status beyond it,
 * one round trip. The bounds here are wide, as other tests run at the same time; DAVIT_TEST_BUDGETS prints the figures.
 */
const slack = 15;

let server: RunningServer;
let shop: Shop;
let terminal: Terminal;
beforeAll(async () => {
  buildCommandLine();
  server = await startRunningServer();
  shop = await createShop(server);
  terminal = await openTerminal();
  await terminal.run(['login', server.baseUrl, '--token-stdin', '--name', 'shop'], { stdin: shop.organization.tokens.READ });
  await terminal.run(['link', '--environment', 'shop/production']);
});
afterAll(async () => {
  await terminal.close();
  await server.close();
});

/** Returns the milliseconds of the fastest of several runs, which other work disturbed least. */
async function fastest(run: () => Promise<unknown> | void): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 7; index += 1) {
    const begun = performance.now();
    await run();
    times.push(performance.now() - begun);
  }
  return Math.min(...times);
}

test('the command line is small and quick, and status asks the server at one time only', async () => {
  const env = terminal.environmentOf();
  const bare = await fastest(() => void execFileSync(process.execPath, ['-e', '0'], { env }));
  const version = await fastest(() => void execFileSync(process.execPath, [program, '--version'], { env }));
  const status = await fastest(() => terminal.run(['status']));
  const figures = { bytes: statSync(program).size, version: version - bare, status: status - bare };
  if (process.env['DAVIT_TEST_BUDGETS'] !== undefined) process.stderr.write(`${JSON.stringify(figures)}\n`);
  expect(figures.bytes).toBeLessThan(400_000);
  expect(figures.version).toBeLessThan(60 * slack);
  expect(figures.status).toBeLessThan(120 * slack);
});

test('no command calls the server unless it has to', async () => {
  const environment = { DAVIT_SERVER: 'http://127.0.0.1:1', DAVIT_TOKEN: 'dvt_nobody' };
  const offline = [
    ['--version'],
    ['--help'],
    ['deploy', '--help'],
    ['completion', 'bash'],
    ['context', 'list'],
    ['api', '--list', 'project'],
  ];
  for (const words of offline) expect(await terminal.run(words, { environment })).toMatchObject({ code: 0 });
  const completed = await terminal.run(['__complete', 'varia'], { environment });
  expect(completed).toMatchObject({ code: 0, out: 'variables\n' });
  const flags = await terminal.run(['__complete', 'deploy', '--det'], { environment });
  expect(flags).toMatchObject({ code: 0, out: '--detach\n' });
});

/** Runs a script in a shell; `davit` is a function, as the program has no place in the PATH of a test. */
function inShell(shell: string, args: readonly string[], script: string): string {
  const env = terminal.environmentOf({ DAVIT: program, NODE: process.execPath });
  return execFileSync(shell, [...args, script], { env, encoding: 'utf8', timeout: 60_000 });
}
const hasShell = (name: string): boolean => findProgram(name) !== null;

test('bash completes commands and flags, with the script that the command line prints', () => {
  const script = `davit() { "$NODE" "$DAVIT" "$@"; }; eval "$(davit completion bash)"
    COMP_CWORD=2 COMP_WORDS=(davit database ba); _davit; echo "\${COMPREPLY[@]}"
    COMP_CWORD=2 COMP_WORDS=(davit deploy --det); _davit; echo "\${COMPREPLY[@]}"`;
  expect(inShell('bash', ['-c'], script)).toBe('backup\n--detach\n');
});

// Debian: apt-get install zsh fish
test.skipIf(!hasShell('zsh'))('zsh completes what a person types, with the script that the command line prints', () => {
  // A zsh in a pseudo-terminal, in which Tab completes as it does for a person; `typed` waits until a text appears.
  const script = `zmodload zsh/zpty
    zpty person zsh -f -i
    typed() { zpty -w -n person "$1"; zpty -r person text "*$2*" }
    typed $'davit() { "$NODE" "$DAVIT" "$@" }; autoload -Uz compinit; compinit -u -D\n' ''
    typed $'eval "$(davit completion zsh)"; print rea""dy\n' ready
    typed $'davit database ba\t' 'ckup '
    typed $'\x15davit deploy --det\t' 'ach '
    zpty -d person
    print done`;
  expect(inShell('zsh', ['-f', '-c'], script)).toBe('done\n');
});

test.skipIf(!hasShell('fish'))('fish completes commands and flags, with the script that the command line prints', () => {
  const script = `function davit; $NODE $DAVIT $argv; end
    davit completion fish | source
    complete -C 'davit database ba'; complete -C 'davit deploy --det'; complete -C 'davit '`;
  const lines = inShell('fish', ['--no-config', '-c'], script).split('\n');
  expect(lines.slice(0, 2)).toEqual(['backup', '--detach']);
  expect(lines).toContain('variables');
});
