import Schema from 'typebox/schema';

/** Returns the faults of a value by a schema of the contract, one for each line; none if the value fits. */
export function faultsOf(schema: object, value: unknown): string[] {
  // Interprets the schema: compiling each one takes ten times as long as its one use.
  if (Schema.Check(schema, value)) return [];
  const [, errors] = Schema.Errors(schema, value);
  return errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
}
