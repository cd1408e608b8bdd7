import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
/** The one file of the command line. */
export const program = path.join(root, 'packages/cli/dist/davit.mjs');

/** Builds the command line, if its sources are newer than what was built. */
export function buildCommandLine(): void {
  execFileSync('tools/dependencies.sh', { cwd: root, stdio: 'ignore' });
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly stdin?: string;
  readonly folder?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A command that runs. */
export interface Running {
  /** Return the text that it has written so far. */
  readonly out: () => string;
  readonly err: () => string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

/** A command in a pseudo-terminal. Its stdout and stderr are one screen. */
export interface InTerminal {
  /** Returns the text on the screen so far, with its escape sequences. */
  readonly screen: () => string;
  type(text: string): void;
  readonly ended: Promise<{ readonly code: number | null; readonly screen: string }>;
}

/** A person at a terminal: a home folder of their own, and a folder in which they work. */
export interface Terminal {
  readonly home: string;
  readonly configFile: string;
  run(words: readonly string[], options?: RunOptions): Promise<Ended>;
  start(words: readonly string[], options?: RunOptions): Running;
  /** Starts a command in a pseudo-terminal of this width; `type` sends what a person types. */
  inTerminal(words: readonly string[], options: RunOptions & { readonly columns: number }): InTerminal;
  /** The variables that commands get. */
  environmentOf(more?: Readonly<Record<string, string>>): Record<string, string>;
  close(): Promise<void>;
}

export async function openTerminal(): Promise<Terminal> {
  const home = await mkdtemp(path.join(tmpdir(), 'davit-cli-'));
  const environmentOf: Terminal['environmentOf'] = (more = {}) => ({
    PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    LANG: 'C.UTF-8',
    ...more,
  });
  const start: Terminal['start'] = (words, { stdin = '', folder = home, environment = {} } = {}) => {
    const child = spawn(process.execPath, [program, ...words], { cwd: folder, env: environmentOf(environment) });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    // A command that fails at once does not read its input.
    child.stdin.on('error', () => undefined).end(stdin);
    const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
    return { out: () => out, err: () => err, kill: (signal) => void child.kill(signal), ended };
  };
  const inTerminal: Terminal['inTerminal'] = (words, { folder = home, environment = {}, columns }) => {
    const quoted = [process.execPath, program, ...words].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
    // script of util-linux gives the command a terminal of its own, and exits with the exit code of the command.
    const shell = `stty cols ${columns} rows 40; exec ${quoted}`;
    const env = environmentOf({ TERM: 'xterm-256color', SHELL: '/bin/sh', ...environment });
    const child = spawn('script', ['-qec', shell, '/dev/null'], { cwd: folder, env });
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
    const ended = new Promise<{ code: number | null; screen: string }>((resolve) =>
      child.on('close', (code) => resolve({ code, screen })),
    );
    return { screen: () => screen, type: (text) => void child.stdin.write(text), ended };
  };
  return {
    home,
    inTerminal,
    configFile: path.join(home, '.config/davit/config.json'),
    start,
    run: (words, options) => start(words, options).ended,
    environmentOf,
    close: () => rm(home, { recursive: true, force: true }),
  };
}
