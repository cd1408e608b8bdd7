import { AppError, isUuid, type ErrorDetail } from '@davit/base';
import type { Operation } from '@davit/contract';
import { Ajv, type ValidateFunction } from 'ajv';
import { refuseUnstorable } from './json.ts';
import { neglectedFlags } from './restraining-flags.ts';
import { toDetails } from './validation-messages.ts';

const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/;
const formats = {
  uuid: isUuid,
  'date-time': (text: string) => dateTime.test(text) && !Number.isNaN(Date.parse(text)),
  email: /^[^\s@]{1,64}@[^\s@]+\.[^\s@]+$/,
};

// Collecting all errors of a large body takes much more memory than the body.
const largestBodyForAllErrors = 32_768;
const maxDetails = 100;

function makeAjv(allErrors: boolean, coerceTypes: boolean): Ajv {
  // The schemas of the contract are reviewed. `strict` would reject lists of types, which serialisers handle better
  // than unions.
  return new Ajv({ allErrors, coerceTypes, strict: false, verbose: true, formats });
}

const bodyAjv = makeAjv(false, false);
const bodyAjvForErrors = makeAjv(true, false);
const queryAjv = makeAjv(true, true);

/** Compiles a validator when it is first needed: most operations are never called in the first minutes of a process. */
function compiled(ajv: Ajv, schema: object): () => ValidateFunction {
  let validate: ValidateFunction | undefined;
  return () => (validate ??= ajv.compile(schema));
}

/**
 * Returns a function that checks the bodies of an operation. The function returns the body, or undefined if none was
 * sent and none is required.
 */
export function bodyChecker(operation: Operation): (body: unknown, bytes: number) => unknown {
  const schema = operation.body;
  if (schema === undefined) return () => undefined;
  const isRequired = operation.bodyRequired !== false;
  const check = compiled(bodyAjv, schema);
  const checkForErrors = compiled(bodyAjvForErrors, schema);
  return (body, bytes) => {
    if (body === undefined || (body === null && !isRequired)) {
      if (!isRequired) return undefined;
      throw missingBody(schema);
    }
    const validate = check();
    if (validate(body)) return body;
    const thorough = bytes > largestBodyForAllErrors ? validate : checkForErrors();
    if (thorough !== validate) thorough(body);
    throw validationFailed(toDetails(thorough.errors ?? []));
  };
}

/**
 * Returns a function that checks and converts the query of an operation. Undeclared parameters stay and are ignored.
 * VALIDATION_FAILED for undeclared flags such as `dry_run`: ignoring one would do more than the caller requested.
 */
export function queryChecker(operation: Operation): (query: Record<string, unknown>) => Record<string, unknown> {
  const schema = operation.query;
  const refuseNeglected = (query: Record<string, unknown>): Record<string, unknown> => {
    const neglected = neglectedFlags(operation, query);
    if (neglected.length > 0) throw validationFailed(neglected);
    return query;
  };
  if (schema === undefined) return refuseNeglected;
  const check = compiled(queryAjv, schema);
  return (query) => {
    refuseNeglected(query);
    const validate = check();
    if (!validate(query)) throw validationFailed(toDetails(validate.errors ?? []));
    refuseUnstorable(query, '');
    return query;
  };
}

/**
 * Returns a VALIDATION_FAILED error; its message is the first error with its path. Semantic checks beyond the schema
 * use it too.
 */
export function validationFailed(details: readonly ErrorDetail[]): AppError {
  const [first] = details;
  const others = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
  const text =
    first === undefined ? 'The request is not valid' : `${first.path === '' ? 'the body' : first.path} ${first.message}`;
  return new AppError({
    code: 'VALIDATION_FAILED',
    message: `Validation error: ${text}${others}`,
    errors: details.slice(0, maxDetails),
  });
}

function missingBody(schema: object): AppError {
  if ('type' in schema && schema.type === 'string') {
    return new AppError({ code: 'VALIDATION_FAILED', message: 'Validation error: a text body is required' });
  }
  const required = 'required' in schema && Array.isArray(schema.required) ? schema.required.map(String) : [];
  const properties = 'properties' in schema && typeof schema.properties === 'object' ? Object.keys(schema.properties ?? {}) : [];
  const needed = required.length > 0 ? `with ${required.join(', ')}` : `with at least one of ${properties.join(', ')}`;
  return new AppError({
    code: 'VALIDATION_FAILED',
    message: `Validation error: a JSON body is required, ${needed}`,
    errors: required.map((path) => ({ path, message: 'is required' })),
  });
}
