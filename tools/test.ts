import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { testEngineKinds, testEnginesFolder, type EngineKind } from '@davit/testkit/engines';
import { commitNumber } from '@davit/testkit/commit';
import { countTests, failures, slowestFiles, type Counts, type Failure, type TestReport } from './test-counts.ts';
import { leftOut } from './test-files.ts';

/*
 * Runs the parts of ./test once everything is ready. The last lines always name the failed tests, the slowest files and
 * the time of each part; the very last line counts the tests that passed and failed.
 */

/** A run of vitest, or the checks. */
interface Part {
  readonly name: string;
  readonly run: () => Promise<Counts>;
}

/** A run of vitest in which tests failed. */
interface FailedRun {
  readonly options: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly failures: readonly Failure[];
}

/** Above this number of failed tests nothing is run again: something is wrong. */
const maxUnsteady = 3;

const root = fileURLToPath(new URL('..', import.meta.url));
const [wanted = 'all', ...rest] = process.argv.slice(2);

const failedRuns: FailedRun[] = [];
/** Tests that failed beside others and passed alone. */
const unsteady: Failure[] = [];
const reports: TestReport[] = [];
const times: string[] = [];
const total = { passed: 0, failed: 0, skipped: 0 };
/** Programs whose output is shown as it is printed: one at most, so that the lines of two do not mix. */
let showing = 0;

const check: Part = { name: 'check', run: runCheck };
const unit = vitest('unit', ['--project', 'unit']);
const db = vitest('db', ['--project', 'db']);
const slow = vitest('slow', ['--project', 'slow']);
/** Parts that run one after the other. */
type Lane = readonly Part[];
/** Stages in the order in which they run; the lanes of a stage run side by side. */
const plans: Readonly<Record<string, () => readonly (readonly Lane[])[]>> = {
  // Tests on engines wait more than they compute, and take as long as all other tests together.
  all: () => [[[check]], [[unit, db, slow, onCluster], ...engines('ONCE')]],
  quick: () => [[[check, unit, db]]],
  changed: () => [[[check, vitest('changed', ['--project', 'unit', '--project', 'db', '--changed', '--passWithNoTests'])]]],
  check: () => [[[check]]],
  unit: () => [[[unit]]],
  db: () => [[[db, slow]]],
  engine: () => [engines('ONCE')],
  nightly: () => [
    [[check, unit, db, slow]],
    engines('EACH'),
    [engineKinds().map((kind) => vitest(`crash on ${kind}`, ['--project', 'crash'], environmentOf(kind)))],
    [[vitest('nightly', ['--project', 'nightly'])]],
  ],
};
// On a cluster only where that is asked for by name: here those tests are shown as skipped.
const onCluster = vitest('kubernetes', ['--project', 'kubernetes*']);

const plan = plans[wanted];
if (plan === undefined) await runLanes([[filtered([wanted, ...rest])]]);
else for (const lanes of plan()) await runLanes(lanes);
if (wanted === 'all') await runFailedAlone();
report();

function filtered(filters: readonly string[]): Part {
  return vitest('files', [...['unit', 'db', 'slow', 'engine'].flatMap((project) => ['--project', project]), ...filters]);
}

/**
 * The tests on container engines, a process for each engine. What one engine shows runs on one of them (`ONCE`), unless
 * all of it is wanted on each (`EACH`).
 */
function engines(which: 'ONCE' | 'EACH'): Lane[] {
  const kinds = engineKinds();
  const turn = commitNumber();
  return kinds.map((kind, position) => {
    const left = which === 'ONCE' ? leftOut(position, kinds.length, turn) : [];
    const environment = left.length === 0 ? {} : { DAVIT_TEST_LEAVE_OUT: left.join(',') };
    return [vitest(kind ?? 'engine', ['--project', 'engine'], { ...environmentOf(kind), ...environment })];
  });
}

/** Null: there is no engine, and the tests say so. */
function engineKinds(): readonly (EngineKind | null)[] {
  const kinds = testEngineKinds();
  return kinds.length === 0 ? [null] : kinds;
}

function environmentOf(kind: EngineKind | null): NodeJS.ProcessEnv {
  if (kind === null) return {};
  return { DAVIT_TEST_ENGINES: kind, DAVIT_TEST_ENGINES_FOLDER: `${testEnginesFolder()}-${kind}` };
}

/** Runs lanes side by side. The output of the first one is shown as it comes, that of the others at their ends. */
async function runLanes(lanes: readonly Lane[]): Promise<void> {
  await Promise.all(
    lanes.map(async (parts) => {
      for (const { name, run } of parts) {
        const began = Date.now();
        add(await run());
        times.push(`${name} ${Math.round((Date.now() - began) / 1_000)} s`);
      }
    }),
  );
}

/**
 * Engines and other tests run side by side: what fails there for want of a processor passes when nothing else runs.
 * Files with failures are run once more, alone; what passes then is reported as unsteady, which is a fault to be found,
 * and not as failed.
 */
async function runFailedAlone(): Promise<void> {
  const before = failedRuns.flatMap(({ failures: found }) => found);
  if (before.length === 0 || before.length !== total.failed || before.length > maxUnsteady) return;
  for (const { options, environment, failures: former } of failedRuns.splice(0)) {
    const files = [...new Set(former.map(({ file }) => file))];
    console.log(`Run once more, alone: ${files.join(', ')}`);
    const counts = await vitest('again', [...options, ...files], environment).run();
    if (counts.failed > 0) continue;
    unsteady.push(...former);
    total.failed -= former.length;
    total.passed += former.length;
  }
}

function report(): void {
  const failed = failedRuns.flatMap(({ failures: found }) => found);
  for (const { name, message } of failed) console.log(`FAILED ${name}\n${message}`);
  for (const { name, message } of unsteady) console.log(`UNSTEADY, passed alone: ${name}\n${message}`);
  console.log('The slowest files:');
  for (const { seconds, name } of slowestFiles(reports, 20)) {
    console.log(`${seconds.toFixed(1).padStart(7)} s  ${path.relative(root, name)}`);
  }
  console.log(`Time: ${times.join(', ')}`);
  // Once more, a line each: who sees only the end of a long output sees all of them.
  for (const one of failed) console.log(`FAILED ${inOneLine(one)}`);
  for (const one of unsteady) console.log(`UNSTEADY, passed alone: ${inOneLine(one)}`);
  const skipped = total.skipped === 0 ? '' : `, ${total.skipped} skipped`;
  const passedAlone = unsteady.length === 0 ? '' : `, ${unsteady.length} unsteady`;
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}${passedAlone}`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

function inOneLine({ name, message }: Failure): string {
  return `${name}: ${message.split('\n', 1)[0]?.trim() ?? ''}`;
}

function add(counts: Counts): void {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
}

async function runCheck(): Promise<Counts> {
  const { output, isGood } = await run([path.join(root, 'tools/check.ts')], {});
  const passed = output.match(/^ok /gm)?.length ?? 0;
  const wrong = output.match(/^FAILED /gm)?.length ?? 0;
  // It may have ended before it could say what is wrong.
  return { passed, failed: isGood ? wrong : Math.max(1, wrong), skipped: 0 };
}

function vitest(name: string, options: readonly string[], environment: NodeJS.ProcessEnv = {}): Part {
  return {
    name,
    run: async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'davit-report-'));
      const file = path.join(folder, 'report.json');
      const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
      try {
        const { isGood } = await run(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...options], environment);
        const found = readReport(file);
        if (found !== undefined) reports.push(found);
        const failed = failures(found, root);
        if (failed.length > 0) failedRuns.push({ options, environment, failures: failed });
        const isEmpty = found !== undefined && found.testResults.length === 0 && options.includes('--passWithNoTests');
        return isEmpty && isGood ? { passed: 0, failed: 0, skipped: 0 } : countTests(found, isGood);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  };
}

function readReport(file: string): TestReport | undefined {
  try {
    const found: TestReport = JSON.parse(readFileSync(file, 'utf8'));
    return found;
  } catch {
    // Vitest ended before it could write one.
    return undefined;
  }
}

/** Runs a program of Node.js to its end. Signals to this process are handed on to it. */
function run(
  commandLine: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly output: string; readonly isGood: boolean }> {
  const child = spawn(process.execPath, commandLine, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward);
  const isShown = showing === 0;
  if (isShown) showing += 1;
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (isShown) process.stdout.write(chunk);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, forward);
      if (isShown) showing -= 1;
      else process.stdout.write(output);
      resolve({ output, isGood: code === 0 });
    });
  });
}
