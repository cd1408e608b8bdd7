import { gitProviders, operationList, type Operation } from '@davit/contract';
import { publicDescription, routeOf, type PublicOperation, type PublicSchema } from '@davit/testkit/public-description';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

/** An implemented operation and its public description. */
export interface Described {
  readonly operation: Operation;
  readonly one: PublicOperation;
  /** Its index in the description. */
  readonly index: number;
}

const linkBecause = 'the server does not know under which addresses proxies offer it; a reference holds behind each of them';
/** Schemas in which the contract deviates from the description: the replacement and the reason. */
const exceptions: readonly { readonly schema: string; readonly change: PublicSchema; readonly because: string }[] = [
  {
    schema: 'GitProviderEnum',
    change: { type: 'string', enum: [...gitProviders] },
    because: 'a repository on any other server than those of the three hosts has to be called something: GENERIC',
  },
  {
    schema: 'GitWebhookStatusResponse/properties/provider',
    change: { type: 'string', enum: [...gitProviders] },
    because: 'the same: a webhook of any other server works, too',
  },
  ...['next', 'previous'].map((link) => ({
    schema: `OrganizationEventResponseList/properties/links/properties/${link}`,
    change: { type: 'string', format: 'uri-reference' },
    because: linkBecause,
  })),
];

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
// The format allows fractions of seconds, as ISO 8601 does and clients accept.
ajv.addFormat('duration', /^P(?=.)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$/);
ajv.addSchema({ $id: 'public', ...withExceptions() });

const described = new Map(publicDescription.operations.map((one, index) => [routeOf(one), { one, index }]));

/** All operations that are both implemented and described. */
export const describedOperations: readonly Described[] = operationList.flatMap((operation) => {
  const found = described.get(routeOf(operation));
  return found === undefined ? [] : [{ operation, ...found }];
});

/** Returns the faults of a response, one per line. A status that the operation does not document is a fault too. */
export function faultsOfAnswer({ one, index }: Described, status: number, text: string): string[] {
  const schema = one.responses[status];
  if (schema === undefined) return [`${status} is none of the codes ${Object.keys(one.responses).join(', ')}`];
  if (schema === null) return [];
  const value: unknown = schema.content === undefined ? JSON.parse(text) : text;
  const validate = ajv.compile({ $ref: `public#/operations/${index}/responses/${status}` });
  validate(value);
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** Returns the length of a response's list; undefined if the response has none. */
export function lengthOfList(text: string): number | undefined {
  if (!text.startsWith('{')) return undefined;
  const value: { readonly results?: unknown } = JSON.parse(text);
  return Array.isArray(value.results) ? value.results.length : undefined;
}

function withExceptions(): object {
  const { schemas, operations } = structuredClone(publicDescription);
  for (const { schema, change } of exceptions) {
    let location: object = schemas;
    for (const part of schema.split('/')) {
      const inside: unknown = Object.entries(location).find(([name]) => name === part)?.[1];
      if (typeof inside !== 'object' || inside === null) throw new Error(`the public description has no ${schema}`);
      location = inside;
    }
    Object.assign(location, change);
  }
  return { schemas, operations };
}
