import type { Instance } from '@davit/drivers';
import type { ServiceOutput } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';

/** Writable by whatever user the job runs as. */
export const outputFolder = '/davit-output';
const outputFile = `${outputFolder}/davit-output.json`;
const largestFileBytes = 1_048_576;
const mostOutputs = 200;
// One entry of a process's environment, key and `=` included (MAX_ARG_STRLEN of Linux, without its final NUL). The server holds variables
// that users set to the same (`checkLength`).
const longestEntryBytes = 131_071;

interface EndedRun {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly serviceId: string;
  readonly instance: Instance;
  readonly signal: AbortSignal;
}

/**
 * Hands what a run that succeeded wrote to `/davit-output/davit-output.json` to the resources. Answers what there is to say about it,
 * null without such a file. May be done again. A file that is not as it should be is no failure of the job, which did its work.
 */
export async function publishOutputs({ parts, driver, serviceId, instance, signal }: EndedRun): Promise<string | null> {
  const { cluster } = driversOf(parts, driver);
  const text = await cluster.readFile(instance.id, { path: outputFile, mostBytes: largestFileBytes }, signal);
  if (text === null)
    return instance.foldersLost === true ? `${outputFile} is left out: nobody read it before it was gone.` : null;
  const parsed = parseOutputs(text);
  if ('fault' in parsed) return `${outputFile} is left out: it ${parsed.fault}.`;
  const { builtInPrefix } = parts.settings;
  const { outputs, notes } = storable(parsed.outputs, { builtInPrefix, type: 'JOB', id: serviceId });
  await parts.hooks.serviceOutputs(serviceId, outputs);
  return [`Outputs: ${outputs.map(({ name }) => name).join(', ') || 'none'}.`, ...notes].join(' ');
}

/** Whose outputs they are: with the prefix it says what the variable of an output is called. */
interface OutputOwner {
  readonly builtInPrefix: string;
  readonly type: 'JOB' | 'TERRAFORM';
  readonly id: string;
}

/**
 * The outputs that can be variables, and a sentence for each other one. One of those would fail every later deployment of the
 * environment, as no process can be started with it, or the run that told it, as the database does not take it. Pure.
 */
export function storable(
  outputs: readonly ServiceOutput[],
  { builtInPrefix, type, id }: OutputOwner,
): { readonly outputs: readonly ServiceOutput[]; readonly notes: readonly string[] } {
  const kept: ServiceOutput[] = [];
  const notes: string[] = [];
  for (const output of outputs) {
    // As the server calls it (variable/output.ts). A process gets it under the plain name too, which is shorter.
    const key = `${builtInPrefix}OUTPUT_${type}_Z${id.slice(0, 8).toUpperCase()}_${output.name}`;
    const fault = faultOf(output, key);
    if (fault === null) kept.push(output);
    else notes.push(`The output ${output.name} is left out: its ${fault}.`);
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
    if (text.includes('\0')) return `${noun} of ${Buffer.byteLength(text)} bytes has a NUL character, which no variable can have`;
  }
  return null;
}

/** `{"NAME": {"value": …, "sensitive": false, "description": ""}}`. What is no text is written as JSON. */
export function parseOutputs(text: string): { readonly outputs: readonly ServiceOutput[] } | { readonly fault: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { fault: 'is no JSON' };
  }
  const form = 'must be an object of objects with a value, as in {"NAME": {"value": "x", "sensitive": true}}';
  if (!isObject(parsed)) return { fault: form };
  const entries = Object.entries(parsed);
  if (entries.length > mostOutputs) return { fault: `names more than ${mostOutputs} outputs` };
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
