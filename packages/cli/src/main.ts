#!/usr/bin/env node
import { version } from './version.ts';

const words = process.argv.slice(2);
if (words.length === 1 && (words[0] === '--version' || words[0] === '-v')) {
  process.stdout.write(`${version}\n`);
} else {
  const { runProgram } = await import('./program.ts');
  const { env: environment, stdin, stdout, stderr } = process;
  process.exitCode = await runProgram(words, { environment, folder: process.cwd(), stdin, stdout, stderr });
}
