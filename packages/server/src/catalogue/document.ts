import { readFile } from 'node:fs/promises';
import { AppError, type ErrorDetail, messageOf } from '@davit/base';
import { Ajv } from 'ajv';

/** A data file of Davit that an operator can replace. */
export interface DocumentKind<Content> {
  /** Name in messages, such as `catalogue of cloud vendors`. */
  readonly what: string;
  /** Environment variable with the path of the operator's file. */
  readonly variable: string;
  readonly ownFile: URL;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Present names of properties by names that earlier versions used, and that files of operators may still have. */
  readonly formerNames?: Readonly<Record<string, string>>;
  /** Returns the faults that a schema cannot express. */
  readonly contradictions: (content: Content) => readonly ErrorDetail[];
}

const maxFaults = 20;

/** Reads `file`, or Davit's own file. Throws CATALOGUE_INVALID with the faults. */
export async function readDocument<Content>(kind: DocumentKind<Content>, file: string | null): Promise<Content> {
  const name = file ?? 'the file of this version';
  let text: string;
  try {
    text = await readFile(file ?? kind.ownFile, 'utf8');
  } catch (error) {
    throw invalid(kind, name, [{ path: '', message: `cannot be read: ${messageOf(error)}` }]);
  }
  // Davit's own file was checked by the tests of this version; compiling the schema would add 50 ms to each start.
  return file === null ? JSON.parse(text) : parseDocument(kind, text, name);
}

/** Parses and checks the text of a file. `name` appears in error messages. */
export function parseDocument<Content>(kind: DocumentKind<Content>, text: string, name: string): Content {
  let value: unknown;
  try {
    const { formerNames } = kind;
    value = JSON.parse(text, formerNames && ((_, part: unknown) => withPresentNames(part, formerNames)));
  } catch (error) {
    throw invalid(kind, name, [{ path: '', message: `is not JSON: ${messageOf(error)}` }]);
  }
  const ajv = new Ajv({ allErrors: true, strict: false });
  const isValid = ajv.compile<Content>(kind.schema);
  if (!isValid(value)) throw invalid(kind, name, (isValid.errors ?? []).map(toDetail));
  const faults = kind.contradictions(value);
  if (faults.length > 0) throw invalid(kind, name, faults);
  return value;
}

/** Returns an object with its properties under their present names, and any other value as it is. */
function withPresentNames(value: unknown, formerNames: Readonly<Record<string, string>>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]: [string, unknown]) => {
      const present = Object.hasOwn(formerNames, name) ? formerNames[name] : undefined;
      return [present === undefined || Object.hasOwn(value, present) ? name : present, part];
    }),
  );
}

function toDetail(error: { instancePath: string; message?: string; params: Record<string, unknown> }): ErrorDetail {
  const unknown = error.params['additionalProperty'];
  const message = typeof unknown === 'string' ? `has the unknown property ${unknown}` : (error.message ?? 'is not valid');
  return { path: error.instancePath.slice(1).replaceAll('/', '.'), message };
}

function invalid<Content>(kind: DocumentKind<Content>, name: string, errors: readonly ErrorDetail[]): AppError {
  const lines = errors.slice(0, maxFaults).map(({ path, message }) => `  ${path} ${message}`.trimEnd());
  const more = errors.length > maxFaults ? `\n  and ${errors.length - maxFaults} more` : '';
  return new AppError({
    code: 'CATALOGUE_INVALID',
    message: `The ${kind.what} (${name}) is wrong:\n${lines.join('\n')}${more}\nCorrect the file, or unset ${kind.variable}.`,
    errors,
  });
}
