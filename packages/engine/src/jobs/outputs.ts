import type { Instance } from '@davit/drivers';
import type { ServiceOutput } from '../model.ts';
import { driversOf, type EngineParts } from '../parts.ts';

/** Writable by whatever user the job runs as. */
export const outputFolder = '/davit-output';
const outputFile = `${outputFolder}/davit-output.json`;
const largestFileBytes = 1_048_576;
const mostOutputs = 200;

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
  await parts.hooks.serviceOutputs(serviceId, parsed.outputs);
  return `Outputs: ${parsed.outputs.map(({ name }) => name).join(', ') || 'none'}.`;
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
