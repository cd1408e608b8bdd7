import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { checkComments } from './comment-check.ts';
import { checkImports } from './import-check.ts';
import { checkLengths } from './length-check.ts';
import { checkSql } from './sql-style.ts';

/*
 * `npm run check`: all checks of the code that do not run it. Prints one line per check, with the problems found, and
 * exits with 1 if there are any. ./test counts the lines that begin with `ok` and `FAILED`.
 */

interface Outcome {
  readonly name: string;
  readonly output: string;
  readonly isGood: boolean;
  readonly seconds: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));

// Number of threads of one check. The checks run concurrently, and more threads than processors only take turns.
const threads = String(Math.max(1, Math.floor(availableParallelism() / 2)));
const checks: Readonly<Record<string, () => Promise<{ output: string; isGood: boolean }>>> = {
  types: async () => {
    // The console runs in a browser and has types of its own.
    const outcomes = await Promise.all(
      ['.', 'packages/console'].map((folder) => program('tsc', ['-p', folder, '--pretty', 'false'])),
    );
    return { output: outcomes.map(({ output }) => output).join(''), isGood: outcomes.every(({ isGood }) => isGood) };
  },
  lint: () => program('oxlint', ['--type-aware', '--threads', threads, '--quiet']),
  format: () => program('oxfmt', ['--check', '--threads', threads]),
  imports: async () => {
    const violations = checkImports();
    const lines = violations.map(({ rule, file, line, message }) => `${file}:${line}: ${message} [${rule}]`);
    return { output: lines.join('\n'), isGood: lines.length === 0 };
  },
  comments: async () => {
    const lines = checkComments().map(({ file, line, message }) => `${file}:${line}: ${message}`);
    return { output: lines.join('\n'), isGood: lines.length === 0 };
  },
  length: async () => {
    const lines = checkLengths().map(
      ({ file, lines }) => `${file}: has ${lines} lines; a file has one subject and at most 400 lines`,
    );
    return { output: lines.join('\n'), isGood: lines.length === 0 };
  },
  sql: async () => {
    const lines = checkSql().map(({ file, line, keyword }) => `${file}:${line}: ${keyword}: SQL is written in lower case`);
    return { output: lines.join('\n'), isGood: lines.length === 0 };
  },
};

const began = performance.now();
const outcomes = await Promise.all(
  Object.entries(checks).map(async ([name, check]) => {
    const outcome: Outcome = { name, ...(await check()), seconds: (performance.now() - began) / 1000 };
    console.log(`${outcome.isGood ? 'ok    ' : 'FAILED'}  ${name.padEnd(8)} ${outcome.seconds.toFixed(1)} s`);
    return outcome;
  }),
);
const failed = outcomes.filter(({ isGood }) => !isGood);
for (const { name, output } of failed) console.log(`\n--- ${name} ---\n${output.trimEnd()}`);
if (failed.some(({ name }) => name === 'format')) console.log('\n`npm run format` puts the format right.');
process.exitCode = failed.length === 0 ? 0 : 1;

function program(name: string, options: readonly string[]): Promise<{ output: string; isGood: boolean }> {
  const child = spawn(process.execPath, [`node_modules/.bin/${name}`, ...options], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ output, isGood: code === 0 }));
  });
}
