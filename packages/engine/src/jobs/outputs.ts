import path from 'node:path';
import type { Instance } from '@davit/drivers';
import type { ServiceOutput } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';

const outputFile = '/davit-output/davit-output.json';
const largestFileBytes = 1_048_576;
const maxOutputs = 200;
// Maximum length of one entry in the environment of a process, including key and `=` (MAX_ARG_STRLEN of Linux, without
// its final NUL). The server limits the variables of users to the same length (`checkLength`).
const longestEntryBytes = 131_071;

type OutputSettings = Pick<EngineParts['settings'], 'clientTexts'>;

function outputFiles({ clientTexts }: OutputSettings): readonly string[] {
  const other = clientTexts?.jobOutputFile ?? null;
  return other === null ? [outputFile] : [outputFile, other];
}

/** Returns the folders in which a job writes its outputs. Any user that the job may run as can write to them. */
export function outputFolders(settings: OutputSettings): readonly string[] {
  return outputFiles(settings).map((file) => path.dirname(file));
}

interface EndedRun {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly serviceId: string;
  readonly instance: Instance;
  readonly signal: AbortSignal;
}

/**
 * Publishes the outputs that a successful run wrote to `/davit-output/davit-output.json`, or to the file that clients
 * use. Returns a line for the log;
 * null if there is no such file. May be repeated. An invalid file does not fail the job, because the job has done its
 * work.
 */
export async function publishOutputs({ parts, driver, serviceId, instance, signal }: EndedRun): Promise<string | null> {
  const { cluster } = driversOf(parts, driver);
  const found = await firstFile(outputFiles(parts.settings), (file) =>
    cluster.readFile(instance.id, { path: file, maxBytes: largestFileBytes }, signal),
  );
  if (found === null)
    return instance.foldersLost === true ? `${outputFile} is ignored: the instance was removed before it was read.` : null;
  const parsed = parseOutputs(found.text);
  if ('fault' in parsed) return `${found.file} is ignored: it ${parsed.fault}.`;
  const { builtInPrefix } = parts.settings;
  const { outputs, notes } = storable(parsed.outputs, { builtInPrefix, type: 'JOB', id: serviceId });
  await parts.hooks.serviceOutputs(serviceId, outputs);
  return [`Outputs: ${outputs.map(({ name }) => name).join(', ') || 'none'}.`, ...notes].join(' ');
}

async function firstFile(
  files: readonly string[],
  read: (file: string) => Promise<string | null>,
): Promise<{ readonly file: string; readonly text: string } | null> {
  for (const file of files) {
    const text = await read(file);
    if (text !== null) return { file, text };
  }
  return null;
}

/** The owner of outputs. Together with the prefix it determines the names of their variables. */
interface OutputOwner {
  readonly builtInPrefix: string;
  readonly type: 'JOB' | 'TERRAFORM';
  readonly id: string;
}

/**
 * Returns the outputs that can become variables, and a sentence for each of the others. Such an output would break
 * something: if it is too long, no process could be started with it, and every later deployment of the environment
 * would fail; if it has a NUL character, the database would reject it, and the run would fail. Pure.
 */
export function storable(
  outputs: readonly ServiceOutput[],
  { builtInPrefix, type, id }: OutputOwner,
): { readonly outputs: readonly ServiceOutput[]; readonly notes: readonly string[] } {
  const kept: ServiceOutput[] = [];
  const notes: string[] = [];
  for (const output of outputs) {
    // The name that the server gives to the variable (variable/output.ts). A process also gets it under the plain name,
    // which is shorter.
    const key = `${builtInPrefix}OUTPUT_${type}_Z${id.slice(0, 8).toUpperCase()}_${output.name}`;
    const fault = faultOf(output, key);
    if (fault === null) kept.push(output);
    else notes.push(`The output ${output.name} is ignored: its ${fault}.`);
  }
  return { outputs: kept, notes };
}

function faultOf({ value, description }: ServiceOutput, key: string): string | null {
  const bytes = Buffer.byteLength(value);
  if (Buffer.byteLength(key) + 1 + bytes > longestEntryBytes) {
    const limit = `a process's environment, which takes ${longestEntryBytes} bytes`;
    return `value of ${bytes} bytes with its key ${key} is too long for ${limit}`;
  }
  for (const [noun, text] of [['value', value] as const, ['description', description ?? ''] as const]) {
    if (text.includes('\0'))
      return `${noun} of ${Buffer.byteLength(text)} bytes has a NUL character, which variables cannot contain`;
  }
  return null;
}

/**
 * Parses `{"NAME": {"value": …, "sensitive": false, "description": ""}}`. A value that is not a string is converted to
 * JSON.
 */
export function parseOutputs(text: string): { readonly outputs: readonly ServiceOutput[] } | { readonly fault: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { fault: 'is not valid JSON' };
  }
  const form = 'must be an object of objects with a value, as in {"NAME": {"value": "x", "sensitive": true}}';
  if (!isObject(parsed)) return { fault: form };
  const entries = Object.entries(parsed);
  if (entries.length > maxOutputs) return { fault: `names more than ${maxOutputs} outputs` };
  const outputs: ServiceOutput[] = [];
  for (const [name, entry] of entries) {
    if (!/^[A-Za-z_]\w{0,199}$/.test(name))
      return { fault: `names an output ${JSON.stringify(name)}: only letters, digits and _` };
    if (!isObject(entry) || entry['value'] === undefined) return { fault: form };
    const { value, sensitive, description } = entry;
    outputs.push({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
      sensitive: sensitive === true,
      description: typeof description === 'string' ? description.slice(0, 255) : null,
    });
  }
  return { outputs };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
