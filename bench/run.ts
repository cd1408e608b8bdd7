import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Place, removeLeftovers } from './place.ts';
import { toTable } from './report.ts';
import type { Measurement, Row } from './row.ts';
import { rows, rowsOnDemand } from './rows/index.ts';

const all = [...rows, ...rowsOnDemand];

const usage = `npm run bench -- [options] [rows]

  --quick             short rounds: a look, not a verdict
  --no-fail           ends with 0 although a target is missed
  --engine <which>    docker (default) or podman

rows:
${rows.map(toLine).join('\n')}

only on demand:
${rowsOnDemand.map(toLine).join('\n')}
`;

function toLine({ name, about }: Row): string {
  return `  ${name.padEnd(10)} ${about}`;
}

interface Options {
  readonly rows: readonly Row[];
  readonly isQuick: boolean;
  readonly mayMiss: boolean;
  readonly engine: 'docker' | 'podman';
}

function readOptions(): Options | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      'no-fail': { type: 'boolean', default: false },
      engine: { type: 'string', default: 'docker' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const unknown = positionals.filter((name) => !all.some((row) => row.name === name));
  const { engine } = values;
  if (values.help || unknown.length > 0 || (engine !== 'docker' && engine !== 'podman')) return null;
  const chosen = positionals.length === 0 ? rows : all.filter(({ name }) => positionals.includes(name));
  return { rows: chosen, isQuick: values.quick, mayMiss: values['no-fail'], engine };
}

async function measure(options: Options, location: Place): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const row of options.rows) {
    console.log(`${row.name}: ${row.about}`);
    const found = await row.run(location);
    console.log(`${toTable(found)}\n`);
    measurements.push(...found);
  }
  return measurements;
}

function write(options: Options, measurements: readonly Measurement[]): string {
  const folder = fileURLToPath(new URL('results/', import.meta.url));
  mkdirSync(folder, { recursive: true });
  const at = new Date().toISOString();
  const machine = { cores: os.availableParallelism(), model: os.cpus()[0]?.model, node: process.version, load: os.loadavg() };
  const file = `${folder}${at.slice(0, 19).replaceAll(':', '-')}.json`;
  const { isQuick, engine } = options;
  writeFileSync(file, `${JSON.stringify({ at, machine, engine, isQuick, measurements }, null, 2)}\n`);
  return file;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === null) {
    process.stderr.write(usage);
    return 2;
  }
  await removeLeftovers();
  const location = new Place(options);
  // Everything that was started is stopped with the run, also if the run is interrupted.
  const interrupted = (): void => void location.end().finally(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const measurements = await measure(options, location);
    const missed = measurements.filter(({ isMet }) => isMet === false);
    console.log(toTable(measurements));
    console.log(
      `\n${missed.length === 0 ? 'all targets met' : `${missed.length} missed`}; details in ${write(options, measurements)}`,
    );
    return missed.length === 0 || options.mayMiss ? 0 : 1;
  } finally {
    await location.end();
  }
}

process.exitCode = await main();
