import type { ErrorDetail } from '@davit/base';
import type { ErrorObject } from 'ajv';

/** Returns the errors of a validator in words that describe a valid value, in the order of the schema. */
export function toDetails(errors: readonly ErrorObject[]): ErrorDetail[] {
  const details = withoutUnions(errors).map((error) => ({ path: pathOf(error), message: messageOf(error) }));
  const seen = new Set<string>();
  return details.filter(({ path, message }) => {
    const key = `${path} ${message}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/**
 * Removes redundant errors of `anyOf`, which is only used for "this or null". The validator reports errors of each
 * branch and of the `anyOf` itself. If the value has the type of the first branch, the errors inside it are kept.
 * Otherwise, one error that names both types is kept.
 */
function withoutUnions(errors: readonly ErrorObject[]): ErrorObject[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  return errors.filter((error) => {
    const around = unions.filter((union) => isInside(error, union));
    if (error.keyword === 'type' && around.some(({ instancePath }) => instancePath === error.instancePath)) return false;
    if (around.some(({ data }) => !isObjectLike(data))) return false;
    return error.keyword !== 'anyOf' || !isObjectLike(error.data);
  });
}

function isInside(error: ErrorObject, union: ErrorObject): boolean {
  const isBelow = error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`);
  return isBelow && error.schemaPath.startsWith(`${union.schemaPath}/`);
}

function isObjectLike(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function pathOf(error: ErrorObject): string {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const missing: unknown = error.params['missingProperty'];
  if (error.keyword === 'required' && typeof missing === 'string') path.push(missing);
  return path.join('.');
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

const formatNames: Readonly<Record<string, string>> = {
  uuid: 'a uuid such as 0b9d2bfc-4b4e-4b8f-9d6b-0d8b3f1c2a11',
  'date-time': 'a date and time such as 2031-01-31T12:00:00Z',
  email: 'an e-mail address',
};

/** Messages for the patterns of the contract. */
const patternNames: Readonly<Record<string, string>> = {
  '\\S': 'must not be blank',
  '^/': 'must begin with /',
  '^(https?://\\S+)?$': 'must be an address that begins with https:// or http://',
  '^/.+': 'must be an absolute path other than /',
  '^[0-9a-fA-F]{7,64}$': 'must be 7 to 64 hexadecimal digits',
};

function messageOf(error: ErrorObject): string {
  const { params } = error;
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'type':
      return `must be ${typeWords(params['type'])}`;
    case 'anyOf':
      return 'must be an object or null';
    case 'enum':
      return `must be one of ${listed(params['allowedValues'])}`;
    case 'format':
      return `must be ${formatNames[String(params['format'])] ?? `of the format ${String(params['format'])}`}`;
    case 'pattern':
      return patternNames[String(params['pattern'])] ?? `must match the pattern ${String(params['pattern'])}`;
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${counted(params['limit'], 'character')}`;
    case 'maxLength':
      return `must have at most ${counted(params['limit'], 'character')}`;
    case 'minItems':
      return `must have at least ${counted(params['limit'], 'item')}`;
    case 'maxItems':
      return `must have at most ${counted(params['limit'], 'item')}`;
    case 'minimum':
      return `must be at least ${String(params['limit'])}`;
    case 'maximum':
      return `must be at most ${String(params['limit'])}`;
    default:
      return error.message ?? 'is not valid';
  }
}

function typeWords(type: unknown): string {
  const names = Array.isArray(type) ? type.map(String) : String(type).split(',');
  return names.map((name) => typeNames[name] ?? name).join(' or ');
}

function listed(values: unknown): string {
  return Array.isArray(values) ? values.map(String).join(', ') : String(values);
}

function counted(limit: unknown, noun: string): string {
  return `${String(limit)} ${noun}${limit === 1 ? '' : 's'}`;
}
