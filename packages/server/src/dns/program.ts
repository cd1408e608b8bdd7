import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TxtRecord } from './message.ts';

const timeoutMilliseconds = 300_000;
const leftoverMilliseconds = 1000;

/**
 * Runs the operator's program with the arguments `add` or `remove`, the name of a TXT record and its value. The program
 * gets Davit's environment without Davit's own settings, which contain secrets. Its output is passed to `log` only,
 * since errors may be shown to tenants and the output may contain credentials. Fails unless it exits with 0 within five
 * minutes.
 */
export async function runDnsProgram(
  program: string,
  action: 'add' | 'remove',
  { name, text }: TxtRecord,
  { log, signal }: { readonly log: (line: string) => void; readonly signal: AbortSignal },
): Promise<void> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]);
  const environment = Object.entries(process.env).filter(([variable]) => !/^(DAVIT_|DATABASE_URL$)/.test(variable));
  const child = spawn(program, [action, name, text], {
    env: Object.fromEntries(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: over,
    killSignal: 'SIGKILL',
  });
  for (const output of [child.stdout, child.stderr]) createInterface({ input: output }).on('line', log);
  const failure = await new Promise<string | null>((resolve) => {
    child.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : error.name;
      resolve(over.aborted ? 'was ended, as it ran for five minutes' : `cannot be run (${code})`);
    });
    child.on('exit', (code, ending) => {
      const end = (): void => resolve(code === 0 ? null : `ended with ${ending ?? `exit code ${code}`}`);
      child.once('close', end);
      // A process that the program left behind may hold its output for as long as it runs.
      setTimeout(() => {
        for (const output of [child.stdout, child.stderr]) output.destroy();
        end();
      }, leftoverMilliseconds).unref();
    });
  });
  if (failure !== null) throw new Error(`the program of DAVIT_DNS_PROGRAM ${failure}; the log of Davit has its output`);
}
