import { readFile } from 'node:fs/promises';
import { AppError, type ErrorDetail } from '@davit/base';
import { Ajv } from 'ajv';

/** A file of data that comes with Davit and that an operator can replace by one of their own. */
export interface DocumentKind<Content> {
  /** For messages: `catalogue of cloud vendors`. */
  readonly what: string;
  /** The environment variable that names the operator's own. */
  readonly variable: string;
  readonly ownFile: URL;
  readonly schema: Readonly<Record<string, unknown>>;
  /** What a schema cannot say. */
  readonly contradictions: (content: Content) => readonly ErrorDetail[];
}

const mostFaults = 20;

/** Reads `file`, or Davit's own. Throws CATALOGUE_INVALID that names what is wrong. */
export async function readDocument<Content>(kind: DocumentKind<Content>, file: string | null): Promise<Content> {
  const name = file ?? 'the one of this version';
  let text: string;
  try {
    text = await readFile(file ?? kind.ownFile, 'utf8');
  } catch (error) {
    throw invalid(kind, name, [
      { path: '', message: `cannot be read: ${error instanceof Error ? error.message : String(error)}` },
    ]);
  }
  // The tests of this version have checked its own file; compiling the schema would take 50 ms of each start.
  return file === null ? JSON.parse(text) : parseDocument(kind, text, name);
}

/** The same of its text. `name` is for the message. */
export function parseDocument<Content>(kind: DocumentKind<Content>, text: string, name: string): Content {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(kind, name, [{ path: '', message: `is not JSON: ${error instanceof Error ? error.message : String(error)}` }]);
  }
  const ajv = new Ajv({ allErrors: true, strict: false });
  const isValid = ajv.compile<Content>(kind.schema);
  if (!isValid(value)) throw invalid(kind, name, (isValid.errors ?? []).map(toDetail));
  const faults = kind.contradictions(value);
  if (faults.length > 0) throw invalid(kind, name, faults);
  return value;
}

function toDetail(error: { instancePath: string; message?: string; params: Record<string, unknown> }): ErrorDetail {
  const unknown = error.params['additionalProperty'];
  const message = typeof unknown === 'string' ? `has the unknown property ${unknown}` : (error.message ?? 'is not valid');
  return { path: error.instancePath.slice(1).replaceAll('/', '.'), message };
}

function invalid<Content>(kind: DocumentKind<Content>, name: string, errors: readonly ErrorDetail[]): AppError {
  const lines = errors.slice(0, mostFaults).map(({ path, message }) => `  ${path} ${message}`.trimEnd());
  const more = errors.length > mostFaults ? `\n  and ${errors.length - mostFaults} more` : '';
  return new AppError({
    code: 'CATALOGUE_INVALID',
    message: `The ${kind.what} (${name}) is wrong:\n${lines.join('\n')}${more}\nCorrect the file, or unset ${kind.variable}.`,
    errors,
  });
}
