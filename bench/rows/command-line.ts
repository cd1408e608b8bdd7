import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { makeTestEnvironment, startRunningServer } from '@davit/testkit/running-server';
import { testDatabaseVariable } from '@davit/testkit/global-database';
import type { Measurement, Row } from '../row.ts';
import { toSeries } from '../statistics.ts';

const program = fileURLToPath(new URL('../../packages/cli/dist/davit.mjs', import.meta.url));
/** Milliseconds beyond those of bare Node.js. */
const targets = { version: 60, status: 120 } as const;

/** The budgets of the command line, beyond the start of Node.js itself. Commands and the floor are measured in turns. */
export const commandLineRow: Row = {
  name: 'command-line',
  about: '`davit --version` and `davit status` of an environment, beyond bare Node.js',
  run: async (location) => {
    process.env[testDatabaseVariable] ??= await location.database('command_line');
    const server = await startRunningServer();
    try {
      const { organization } = await makeTestEnvironment(server);
      const home = location.newFolder('command-line');
      await mkdir(home, { recursive: true });
      const env = { PATH: process.env['PATH'] ?? '', HOME: home, LANG: 'C.UTF-8' };
      const run = (words: readonly string[], input = ''): Promise<number> => timed(words, { env, home, input });
      await run([program, 'login', server.baseUrl, '--token-stdin'], organization.tokens.READ);
      await run([program, 'link', '--environment', 'shop/live']);
      const commands = { bare: ['-e', '0'], version: [program, '--version'], status: [program, 'status'] } as const;
      const times = { bare: [] as number[], version: [] as number[], status: [] as number[] };
      for (let round = 0; round < location.rounds(20, 5); round += 1) {
        for (const name of ['bare', 'version', 'status'] as const) times[name].push(await run(commands[name]));
      }
      return (['version', 'status'] as const).map((name): Measurement => {
        const [davit, floor] = [toSeries(times[name]), toSeries(times.bare)];
        const isMet = davit.median - floor.median <= targets[name];
        const what = name === 'version' ? 'davit --version, against bare Node.js' : 'davit status, against bare Node.js';
        return {
          what,
          unit: 'ms',
          davit,
          floor,
          ratio: davit.median / floor.median,
          target: `≤ ${targets[name]} ms more`,
          isMet,
        };
      });
    } finally {
      await server.close();
    }
  },
};

interface Run {
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  readonly input: string;
}

/** Runs Node.js with these words; returns the milliseconds. Fails if the exit code is not 0. */
async function timed(words: readonly string[], { env, home, input }: Run): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, words, { cwd: home, env, stdio: ['pipe', 'ignore', 'inherit'] });
  // A command that reads no input may have ended.
  child.stdin.on('error', () => undefined).end(input);
  const [code]: unknown[] = await once(child, 'close');
  if (code !== 0) throw new Error(`node ${words.join(' ')} ended with code ${String(code)}`);
  return performance.now() - begun;
}
