import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { countTests, failures, type Counts, type TestReport } from './test-counts.ts';

/*
 * What ./test runs when everything is ready: the checks, then vitest, engine tests after the others as they need the machine
 * for themselves. Whatever happens, the last lines name what failed, and the very last tells how much passed and failed.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const kinds = ['unit', 'db', 'engine'];
const asked = process.argv.slice(2);
const isFilter = asked.length > 0 && !(asked.length === 1 && [...kinds, 'check'].includes(asked[0] ?? ''));
const wants = (kind: string): boolean => asked.length === 0 || asked[0] === kind;

const failed: string[] = [];
const total = { passed: 0, failed: 0, skipped: 0 };
if (isFilter) add(await runVitest(kinds, asked));
else {
  if (wants('check')) add(await runCheck());
  const light = kinds.filter((kind) => kind !== 'engine' && wants(kind));
  if (light.length > 0) add(await runVitest(light, []));
  // On a cluster only where it is asked for by name: here those tests are shown as skipped.
  if (wants('engine')) add(await runVitest(['engine', 'kubernetes'], []));
}
for (const failure of failed) console.log(`FAILED ${failure}`);
const skipped = total.skipped === 0 ? '' : `, ${total.skipped} skipped`;
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed === 0 ? 0 : 1;

function add(counts: Counts): void {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
}

async function runCheck(): Promise<Counts> {
  const { output, isGood } = await run(process.execPath, ['tools/check.ts']);
  const passed = output.match(/^ok /gm)?.length ?? 0;
  const failed = output.match(/^FAILED /gm)?.length ?? 0;
  // It may have ended before it could say what is wrong.
  return { passed, failed: isGood ? failed : Math.max(1, failed), skipped: 0 };
}

async function runVitest(projects: readonly string[], filters: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(path.join(tmpdir(), 'davit-report-'));
  const report = path.join(folder, 'report.json');
  try {
    const { isGood } = await run(process.execPath, [
      'node_modules/vitest/vitest.mjs',
      'run',
      ...projects.flatMap((project) => ['--project', project]),
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...filters,
    ]);
    const found = readReport(report);
    failed.push(...failures(found));
    return countTests(found, isGood);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readReport(file: string): TestReport | undefined {
  try {
    const report: TestReport = JSON.parse(readFileSync(file, 'utf8'));
    return report;
  } catch {
    // Vitest ended before it could write one.
    return undefined;
  }
}

/** Runs a program, showing what it says as it says it. */
function run(program: string, commandLine: readonly string[]): Promise<{ output: string; isGood: boolean }> {
  const child = spawn(program, commandLine, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    process.stdout.write(chunk);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, forward);
      resolve({ output, isGood: code === 0 });
    });
  });
}
