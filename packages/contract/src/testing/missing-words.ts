import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { eventShape, openApi } from '../openapi.ts';
import { operationList } from '../operations.ts';
import { streamControls, streamEvents } from '../stream/events.ts';

const source = path.join(import.meta.dirname, '..');
const declaration = /(?:Named|enumeration)\(\s*(?:'([^']+)'|`([^`]+)`)/g;
const identity = /\bid: (?:'([^']+)'|`([^`]+)`)/g;
const placeholder = /\$\{[^}]*\}/;

/** A place without its words: where it is declared, and what it lacks. */
export interface Missing {
  /** The declaring file in `packages/contract/src`; `?` if no file spells the name. */
  readonly file: string;
  readonly place: string;
  readonly lacks: string;
}

interface Part {
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Part>>;
  readonly items?: Part;
  readonly anyOf?: readonly Part[];
  readonly allOf?: readonly Part[];
  readonly additionalProperties?: Part | boolean;
}
interface Parameter extends Part {
  readonly name: string;
  readonly schema: Part;
}
type Contents = Readonly<Record<string, { readonly schema?: Part; readonly 'x-events'?: Readonly<Record<string, Part>> }>>;
interface Described extends Part {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly content?: Contents }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Part>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

/** Shortest descriptions, in characters. A sentence that is true and says something is longer. */
const least = { property: 15, meaning: 10, shape: 20, operation: 120 };

/** Returns everything in the API document that lacks words, by file. */
export async function missingWords(): Promise<readonly Missing[]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tests of the linter check the document's shape
  const document = openApi(operationList, '0') as unknown as Document;
  const fileOf = await declaringFiles();
  const shapes = Object.entries(document.components.schemas).flatMap(([name, shape]) =>
    [...short(shape, name, least.shape), ...ofPart(shape, name)].map((one) => ({ file: fileOf(name), ...one })),
  );
  const operations = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation) => ofOperation(operation).map((one) => ({ file: fileOf(operation.operationId), ...one })));
  const parameters = Object.values(document.components.parameters).flatMap((one) =>
    short(one, `?${one.name}`, least.property).map((lack) => ({ file: 'parameters.ts', ...lack })),
  );
  return [...parameters, ...shapes, ...operations];
}

type Lack = Omit<Missing, 'file'>;

function ofOperation(operation: Described): readonly Lack[] {
  const place = operation.operationId;
  const contents = [operation.requestBody?.content, ...Object.values(operation.responses).map(({ content }) => content)];
  const schemas = contents.flatMap((content) => Object.values(content ?? {})).flatMap(({ schema }) => schema ?? []);
  return [
    ...ofTitle(operation.summary, place),
    ...short({ description: (operation.description ?? '').replace(/^Who may: .*/m, '') }, place, least.operation),
    // References lead to the table of path parameters, or to the parameters that all operations share.
    ...operation.parameters.flatMap((one) =>
      '$ref' in one
        ? []
        : [...short(one, `${place} ?${one.name}`, least.property), ...ofPart(one.schema, `${place} ?${one.name}`)],
    ),
    ...schemas.flatMap((schema) => ofPart(schema, place)),
  ];
}

function ofTitle(title: string, place: string): readonly Lack[] {
  const faults = [
    ...(title.length > 60 ? [`its title has ${title.length} characters, more than 60: ${title}`] : []),
    ...(title.includes('`') ? [`its title has backticks: ${title}`] : []),
    ...(/^[A-Z][^.]*$/.test(title) ? [] : [`its title is not a short phrase: ${title}`]),
  ];
  return faults.map((lacks) => ({ place, lacks }));
}

/** Returns what a schema lacks inside: in its properties, its values and its parts. Named shapes are visited alone. */
function ofPart(part: Part, place: string): readonly Lack[] {
  const properties = Object.entries(part.properties ?? {}).flatMap(([name, property]) => [
    // A reference to a named shape brings the description of that shape.
    ...('$ref' in property ? [] : short(property, `${place}.${name}`, least.property)),
    ...ofPart(property, `${place}.${name}`),
  ]);
  const { items, anyOf = [], allOf = [], additionalProperties } = part;
  const within = [items ?? [], anyOf, allOf, typeof additionalProperties === 'object' ? additionalProperties : []].flat();
  return [...properties, ...ofValues(part, place), ...within.flatMap((one) => ofPart(one, place))];
}

function ofValues(part: Part, place: string): readonly Lack[] {
  const values = (part.enum ?? []).filter((value) => value !== null).map(String);
  const lines = (part.description ?? '').matchAll(/^- `([^`]+)`: (.*)$/gm);
  const meanings = Object.fromEntries([...lines].map(([, value = '', meaning = '']) => [value, meaning]));
  // The name of the only value is the name of the thing itself, such as the type of a record.
  if (values.length < 2 && meanings[values[0] ?? ''] === undefined) return [];
  return values.flatMap((value) => short({ description: meanings[value] ?? '' }, `${place}=${value}`, least.meaning));
}

function short(part: Part, place: string, minimum: number): readonly Lack[] {
  const { description = '' } = part;
  if (description === '') return [{ place, lacks: 'a description' }];
  const name = place.split(/[.?= ]/).at(-1) ?? place;
  if (lettersOf(description).replace(/^(?:the|an|a)(?=\w)/, '') === lettersOf(name)) {
    return [{ place, lacks: `more than its name: ${description}` }];
  }
  return description.length < minimum ? [{ place, lacks: `a longer description than: ${description}` }] : [];
}

const lettersOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/**
 * Returns the function that finds the file that declares a shape, an enumeration or an operation. Names with a part of
 * their kind (`${kind.Noun}Request`) match every kind.
 */
async function declaringFiles(): Promise<(name: string) => string> {
  const files = (await readdir(source, { recursive: true })).filter((name) => /(?<!\.test)\.ts$/.test(name)).sort();
  const exact = new Map<string, string>();
  const quoted = new Map<string, string>();
  const patterns: { readonly pattern: RegExp; readonly file: string }[] = [];
  for (const file of files.filter((name) => !gathering.has(name))) {
    const text = await readFile(path.join(source, file), 'utf8');
    for (const [, literal = ''] of text.matchAll(/'(\w+)'/g)) quoted.set(literal, file);
    for (const [, plain, template] of [...text.matchAll(declaration), ...text.matchAll(identity)]) {
      if (plain !== undefined) exact.set(plain, file);
      else if (template !== undefined) patterns.push({ pattern: patternOf(template), file });
    }
  }
  const declared = (name: string): string | undefined =>
    exact.get(name) ?? quoted.get(name) ?? patterns.find(({ pattern }) => pattern.test(name))?.file;
  return (name) =>
    isEvent(name) ? path.join('stream', 'events.ts') : (declared(name) ?? declared(name.replace(/List$/, '')) ?? '?');
}

// These files name operations and shapes of other files.
const gathering = new Set(['index.ts', 'operations.ts', 'permissions.ts', 'openapi.ts']);

/** The document names the shapes of events after the events. */
const eventNames = new Set([...Object.keys(streamEvents), ...Object.keys(streamControls)].map(eventShape));
const isEvent = (name: string): boolean => eventNames.has(name);

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.split(placeholder).join('[A-Za-z]*')}$`);
}
